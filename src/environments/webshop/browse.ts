import { BUTTONS, type Listing, type Page, SUB_PAGES } from './page.ts';
import type { Goal } from './product.ts';
import { rewardOf } from './reward.ts';
import { type Shop, searchShop } from './shop.ts';
import { clickablesOf, productOf } from './show-page.ts';

const FORM = /^([^\n]+)\[([^\n]+)\]/; // greedy, from the start, as the published program reads an action

/**
 * Returns the page that an action leads to; null where it does nothing: it is neither `search[words]` nor a click on what the
 * page shows. As in the published program, a search is possible on every page.
 */
export async function browse(shop: Shop, goal: Goal, page: Page, action: string, signal?: AbortSignal): Promise<Page | null> {
  const [, verb, given = ''] = FORM.exec(action) ?? [];
  const argument = given.toLowerCase();
  if (verb === 'search') return list(argument, await searchShop(shop, argument, signal));
  if (verb !== 'click') return null;
  const clickable = clickablesOf(shop, page).get(argument);
  return clickable === undefined ? null : click(shop, goal, page, argument, clickable);
}

function list(words: string, found: readonly string[]): Page {
  return { kind: 'results', words, found, number: 1 };
}

function click(shop: Shop, goal: Goal, page: Page, text: string, clickable: { readonly option: string } | null): Page | null {
  if (text === BUTTONS.back.toLowerCase()) return { kind: 'search' };
  switch (page.kind) {
    case 'results':
      return onResults(page, text);
    case 'item': {
      if (clickable !== null) return { ...page, options: { ...page.options, [clickable.option]: text } };
      if (text === BUTTONS.previous.toLowerCase()) return { kind: 'results', ...page.from };
      const { asin, options } = page;
      if (text === BUTTONS.buy.toLowerCase())
        return { kind: 'done', asin, options, reward: rewardOf(productOf(shop, asin), goal, options).total };
      const sub = SUB_PAGES.find((each) => each.toLowerCase() === text);
      return sub === undefined ? null : { ...page, kind: 'sub', sub };
    }
    case 'sub':
      return { kind: 'item', asin: page.asin, options: page.options, from: page.from };
    case 'search': // its button does nothing without words
    case 'done':
      return null;
    default:
      return page satisfies never;
  }
}

function onResults({ words, found, number }: Listing, text: string): Page {
  if (text === BUTTONS.next.toLowerCase()) return { kind: 'results', words, found, number: number + 1 };
  if (text === BUTTONS.previous.toLowerCase()) return { kind: 'results', words, found, number: number - 1 };
  return { kind: 'item', asin: text.toUpperCase(), options: {}, from: { words, found, number } };
}
