import type { Goal, Product } from './product.ts';
import { tokenSetRatio } from './token-set-ratio.ts';

const FUZZY = 85; // a score above it is a match

/** What a purchase is worth and why. */
export interface Reward {
  /** From 0 to 1: (matched attributes + matched options + [price fits]) / (attributes + options + 1) × type. */
  readonly total: number;
  readonly attributes: number;
  readonly options: number;
  readonly priceFits: boolean;
  /** 1 for a product of the kind that was asked for, else 0.5, 0.1 or 0 by the nouns that the titles share. */
  readonly type: 0 | 0.1 | 0.5 | 1;
}

/**
 * Scores a purchase by the rule that WebShop publishes (Yao et al., 2022, §3; `web_agent_site/engine/goal.py`).
 * @param chosen the options that were chosen, by name.
 */
export function rewardOf(product: Product, goal: Goal, chosen: Readonly<Record<string, string>>): Reward {
  const attributes = goal.attributes.filter((attribute) => hasAttribute(product, attribute)).length;
  const picked = Object.values(chosen).map((value) => colourIn(value) ?? value);
  const options = goal.options.filter((wanted) =>
    picked.some((value) => tokenSetRatio(value, optionText(wanted)) > FUZZY),
  ).length;
  const priceFits = product.price <= goal.priceUpper;
  const type = typeFactor(product, goal);
  const total = ((attributes + options + (priceFits ? 1 : 0)) / (goal.attributes.length + goal.options.length + 1)) * type;
  return { total, attributes, options, priceFits, type };
}

/** An attribute counts where the shop lists it, or where title, features or description name it. */
function hasAttribute(product: Product, wanted: string): boolean {
  return (
    product.attributes.some((attribute) => tokenSetRatio(attribute, wanted) > FUZZY) ||
    [product.title, product.features.join(' '), product.description].some((text) => text.toLowerCase().includes(wanted))
  );
}

/** The published rule compares a wanted colour alone, and of any other option its name with its value. */
function optionText({ name, value }: Goal['options'][number]): string {
  return COLOUR_NAMES.find((colour) => colour === value || colour === name) ?? `${name} ${value}`;
}

/** The first colour that a text holds, in the order of the published list: "navy blue" is "blue". */
function colourIn(text: string): string | null {
  return COLOUR_NAMES.find((colour) => text.includes(colour)) ?? null;
}

export function typeFactor(
  product: Pick<Product, 'query' | 'path' | 'nouns'>,
  goal: Pick<Goal, 'query' | 'path' | 'nouns'>,
): Reward['type'] {
  const wanted = new Set(goal.nouns);
  const shared = [...new Set(product.nouns)].filter((noun) => wanted.has(noun)).length;
  // the published rule divides by the nouns of the wanted title, repeated ones counted as often as they are there
  const title = goal.nouns.length === 0 ? 0.2 : shared / goal.nouns.length;
  const categories = new Set(goal.path);
  const categoryFits = [...new Set(product.path)].filter((category) => categories.has(category)).length >= 2;
  if (title === 0) return 0;
  if (title < 0.1) return 0.1;
  return product.query === goal.query || categoryFits || title > 0.2 ? 1 : 0.5;
}

/** The colours that WebShop's rule knows, in its order (`web_agent_site/engine/normalize.py`, MIT licence). */
const COLOUR_NAMES: readonly string[] = (
  'alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel ' +
  'camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry ' +
  'cream crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey ' +
  'heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight ' +
  'mint mocha multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow ' +
  'red rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal ' +
  'tiger turquoise violet walnut wheat white wine yellow'
).split(' ');
