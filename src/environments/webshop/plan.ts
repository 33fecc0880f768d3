import type { Page } from './page.ts';
import type { Goal } from './product.ts';
import { SHOWN, type Shop } from './shop.ts';
import { productOf, shownOf } from './show-page.ts';

/**
 * Returns the actions of a buyer who knows which product is wanted: search its title, open it, choose the options, buy. Empty
 * where everything is done.
 */
export function planPurchase(shop: Shop, goal: Goal, page: Page): readonly string[] {
  const search = `search[${productOf(shop, goal.asin).title.toLowerCase()}]`;
  const open = `click[${goal.asin.toLowerCase()}]`;
  const buy = ({ options }: { readonly options: Readonly<Record<string, string>> }) => [
    ...goal.options.filter(({ name, value }) => options[name] !== value).map(({ value }) => `click[${value}]`),
    'click[buy now]',
  ];
  const whole = [search, open, ...buy({ options: {} })];
  switch (page.kind) {
    case 'search':
      return whole;
    case 'results': {
      const pagesOn = Math.floor(page.found.indexOf(goal.asin) / SHOWN) + 1 - page.number;
      if (shownOf(page).includes(goal.asin)) return [open, ...buy({ options: {} })];
      const turns = page.found.includes(goal.asin) ? Math.abs(pagesOn) : Number.POSITIVE_INFINITY;
      if (turns > 1) return whole;
      return [pagesOn > 0 ? 'click[next >]' : 'click[< prev]', open, ...buy({ options: {} })];
    }
    case 'item':
      return page.asin === goal.asin ? buy(page) : whole;
    case 'sub':
      return page.asin === goal.asin ? ['click[< prev]', ...buy(page)] : whole;
    case 'done':
      return [];
    default:
      return page satisfies never;
  }
}
