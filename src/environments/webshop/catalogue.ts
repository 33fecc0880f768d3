import type { Random } from '../../domain/random/random.ts';
import { createRandom } from '../../domain/random/random.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import type { Product } from './product.ts';
import { BRAND_PARTS, PRODUCT_TYPES, type ProductType, SENTENCES, STYLES, USES } from './vocabulary.ts';

/** Raised when the same seed makes another catalogue, or the same purchase is worth something else. */
export const CATALOGUE_REVISION = 1;

const ASIN = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ';

/**
 * Makes the products of a shop. They are not those of the published catalogue, which holds pages of Amazon: same fields, made up.
 * Equal seed and size make equal products, and a larger shop holds the products of a smaller one.
 */
export function generateCatalogue(seed: number, size: number): readonly Product[] {
  const random = createRandom(seedFrom('webshop', CATALOGUE_REVISION, seed));
  const asins = new Set<string>();
  return Array.from({ length: size }, (_, i) => {
    const type = PRODUCT_TYPES[i % PRODUCT_TYPES.length] as ProductType; // of a list that is not empty
    return generateProduct(type, newAsin(random, asins), random);
  });
}

function generateProduct(type: ProductType, asin: string, random: Random): Product {
  const brand = `${random.choice(BRAND_PARTS[0])}${random.choice(BRAND_PARTS[1])}`;
  const attributes = random.shuffle(type.attributes).slice(0, 3 + random.int(2));
  const uses = random.shuffle(USES).slice(0, 4);
  const shown = attributes.slice(0, 1 + random.int(2)); // the others are among the features alone
  const title = `${brand} ${capitals(`${random.choice(STYLES)} ${type.query}, ${shown.join(' ')}, for ${uses.join(' ')}`)}`;
  const sentences = random.shuffle(SENTENCES);
  const [least, most] = type.prices;
  return {
    asin,
    title,
    nouns: [brand.toLowerCase(), ...type.query.split(' '), ...uses],
    query: type.query,
    category: type.category,
    path: type.path,
    attributes,
    features: [...random.shuffle(attributes).map((attribute) => `${capitals(attribute)} ${type.query}.`), sentences[0] ?? ''],
    description: `${capitals(type.query)} by ${brand}. ${sentences.slice(1, 3).join(' ')}`,
    price: Math.round(100 * (least + (most - least) * random.next())) / 100,
    options: Object.fromEntries(
      Object.entries(type.options).map(([name, values]) => [name, someOf(values, 2 + random.int(2), random)]),
    ),
  };
}

/** Draws some values and keeps their order. */
function someOf(values: readonly string[], count: number, random: Random): readonly string[] {
  const chosen = new Set(random.shuffle(values).slice(0, count));
  return values.filter((value) => chosen.has(value));
}

function newAsin(random: Random, taken: Set<string>): string {
  for (;;) {
    const asin = `B0${Array.from({ length: 8 }, () => ASIN[random.int(ASIN.length)]).join('')}`;
    if (taken.has(asin)) continue;
    taken.add(asin);
    return asin;
  }
}

function capitals(text: string): string {
  return text.replaceAll(/(?<=^| )[a-z]/g, (letter) => letter.toUpperCase());
}
