import { createRandom } from '../../domain/random/random.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import type { Goal, Product } from './product.ts';

const NO_BOUND = 1_000_000; // dollars
const MOST_ATTRIBUTES = 3;
const TEST_GOALS = 500; // goals 0 to 499 of the published shop are for tests

/**
 * Draws what buyers ask for, as WebShop makes its synthetic goals: each product with each combination of its options, a bound of
 * the price from the multiples of ten above it, in an order drawn from the seed.
 */
export function generateGoals(products: readonly Product[], seed: number): readonly Goal[] {
  const random = createRandom(seedFrom('webshop-goals', seed));
  const goals = products.flatMap((product) => {
    const attributes = random.shuffle(product.attributes).slice(0, 1 + random.int(MOST_ATTRIBUTES));
    const bounds = Array.from({ length: 99 }, (_, i) => 10 * (i + 1)).filter((bound) => bound > product.price);
    const [first = NO_BOUND, second = NO_BOUND] = random.shuffle(bounds.slice(0, 4));
    const priceUpper = bounds.length < 2 ? NO_BOUND : Math.max(first, second);
    const price = priceUpper === NO_BOUND ? '' : `, and price lower than ${priceUpper.toFixed(2)} dollars`;
    const { asin, query, category, path, nouns } = product;
    return combinationsOf(product).map((options): Goal => {
      const wanted = options.map(({ name, value }) => `${name}: ${value}`).join(', and ');
      const instruction = `Find me ${attributes.join(', ')} ${query}${wanted === '' ? '' : ` with ${wanted}`}${price}`;
      return { asin, instruction, query, category, path, nouns, attributes, options, priceUpper };
    });
  });
  return random.shuffle(goals);
}

/**
 * Says of each goal which split it is of: the first 500 are for tests, or the first fifth where there are fewer than 2,500, and
 * with them later goals of the same instruction, so that no instruction is both trained on and tested.
 */
export function splitsOf(goals: readonly Goal[]): readonly ('test' | 'train')[] {
  const tests = goals.slice(0, Math.min(TEST_GOALS, Math.ceil(goals.length / 5)));
  const tested = new Set(tests.map(({ instruction }) => instruction));
  return goals.map(({ instruction }) => (tested.has(instruction) ? 'test' : 'train'));
}

function combinationsOf({ options }: Product): readonly Goal['options'][] {
  return Object.keys(options)
    .sort()
    .reduce<readonly Goal['options'][]>(
      (combinations, name) =>
        combinations.flatMap((chosen) => (options[name] ?? []).map((value) => [...chosen, { name, value }])),
      [[]],
    );
}
