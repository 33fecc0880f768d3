import { BUTTONS, type Chosen, type Listing, type Page, SUB_PAGES } from './page.ts';
import type { Goal, Product } from './product.ts';
import { SHOWN, type Shop } from './shop.ts';

/** Writes a page as WebShop's text mode does: what is visible, in its order, with `[SEP]` between. */
export function showPage(shop: Shop, goal: Goal, page: Page): string {
  return partsOf(shop, goal, page).join(' [SEP] ');
}

/** Returns what can be clicked on a page, in lower case; of an option its value, with the option's name. */
export function clickablesOf(shop: Shop, page: Page): ReadonlyMap<string, { readonly option: string } | null> {
  const plain = (texts: readonly string[]) => texts.map((text) => [text.toLowerCase(), null] as const);
  switch (page.kind) {
    case 'search':
      return new Map(plain([BUTTONS.search]));
    case 'results':
      return new Map(plain([BUTTONS.back, ...turnsOf(page), ...shownOf(page)]));
    case 'item': {
      const options = Object.entries(productOf(shop, page.asin).options);
      const values = options.flatMap(([option, each]) => each.map((value) => [value, { option }] as const));
      return new Map([...plain([BUTTONS.back, BUTTONS.previous, ...SUB_PAGES, BUTTONS.buy]), ...values]);
    }
    case 'sub':
      return new Map(plain([BUTTONS.back, BUTTONS.previous]));
    case 'done':
      return new Map();
    default:
      return page satisfies never;
  }
}

/** Returns the products of a page of results. */
export function shownOf({ found, number }: Listing): readonly string[] {
  return found.slice((number - 1) * SHOWN, number * SHOWN);
}

export function productOf({ products }: Shop, asin: string): Product {
  return products.get(asin) as Product; // pages name products of the shop alone
}

/** Writes a number as Python does: 45 is "45.0". */
export function pythonFloat(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

function partsOf(shop: Shop, goal: Goal, page: Page): readonly string[] {
  const head = ['Instruction:', goal.instruction];
  switch (page.kind) {
    case 'search':
      return ['WebShop', ...head, BUTTONS.search];
    case 'results': {
      const total = `Page ${page.number} (Total results: ${page.found.length})`;
      const products = shownOf(page).flatMap((asin) => [asin, productOf(shop, asin).title, priceOf(productOf(shop, asin))]);
      return [...head, BUTTONS.back, total, ...turnsOf(page), ...products];
    }
    case 'item': {
      const product = productOf(shop, page.asin);
      const options = Object.entries(product.options).flatMap(([option, values]) => [option, ...values]);
      const facts = [product.title, `Price: ${priceOf(product)}`, 'Rating: N.A.'];
      return [...head, BUTTONS.back, BUTTONS.previous, ...options, ...facts, ...SUB_PAGES, BUTTONS.buy];
    }
    case 'sub': {
      const { description, features } = productOf(shop, page.asin);
      const text = { Description: [description], Features: features, Reviews: [] }[page.sub];
      return [...head, BUTTONS.back, BUTTONS.previous, ...text];
    }
    case 'done':
      return receiptOf(page);
    default:
      return page satisfies never;
  }
}

function turnsOf({ number }: Listing): readonly string[] {
  return number > 1 ? [BUTTONS.previous, BUTTONS.next] : [BUTTONS.next]; // there is a next page behind the last one, and it is empty
}

function priceOf({ price }: Product): string {
  return `$${pythonFloat(price)}`;
}

/** The published page hides what was wanted, and its text mode shows the headings of it. */
function receiptOf({ asin, options, reward }: Extract<Page, { kind: 'done' }>): readonly string[] {
  return [
    ...['Thank you for shopping with us!', 'Your code:', 'None', '(Paste it in your MTurk interface.)', 'Purchased'],
    ...[
      'asin',
      asin,
      'options',
      jsonOf(options),
      'attrs',
      'None',
      'category',
      'None',
      'query',
      'None',
      'product category',
      'None',
    ],
    ...['Target', 'asin', 'options', 'attrs', 'price upper', 'instuction text', 'category', 'product category', 'query'],
    ...['Goal', 'None', 'Reward', 'Your score (min 0.0, max 1.0)', pythonFloat(reward), 'Reward Details', 'None'],
  ];
}

/** Writes JSON as the published page does: keys in order, with blanks, apostrophes escaped. */
function jsonOf(options: Chosen): string {
  const pairs = Object.keys(options).sort();
  const text = pairs.map((name) => `${JSON.stringify(name)}: ${JSON.stringify(options[name])}`).join(', ');
  return `{${text}}`.replaceAll("'", '\\u0027');
}
