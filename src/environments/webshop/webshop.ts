import { z } from 'zod';
import { sha256Hex } from '../../digest/sha256.ts';
import { parseThoughtAction } from '../../domain/prompts/parse-thought-action.ts';
import { DESCRIPTORS } from '../agentgym/descriptors.ts';
import { type Environment, EnvironmentError, type EnvironmentKind } from '../environment.ts';
import { defineEnvironment } from '../environment-entry.ts';
import { whole } from '../option-kinds.ts';
import { openLocalRetriever } from '../retrieval/local-retriever.ts';
import { CATALOGUE_REVISION, generateCatalogue } from './catalogue.ts';
import { generateGoals, splitsOf } from './goals.ts';
import { BUTTONS, type Listing, type Page, SUB_PAGES } from './page.ts';
import type { Goal } from './product.ts';
import { rewardOf } from './reward.ts';
import { documentOf, SHOWN, type Shop, searchShop } from './shop.ts';
import { clickablesOf, productOf, shownOf, showPage } from './show-page.ts';
import { PRODUCT_TYPES } from './vocabulary.ts';

export interface WebShopOptions {
  /** Draws catalogue and goals. */
  readonly seed: number;
  readonly products: number;
}

const NAME = 'webshop-generated';
const { instruction: INSTRUCTION } = DESCRIPTORS.webshop;

/**
 * Opens WebShop with a generated catalogue: pages, actions and rewards of the published shop, products of our own. A task's alias
 * is the decimal index of its goal; `splitsOf` says which are for tests.
 */
export async function openWebShop({ seed, products: size }: WebShopOptions): Promise<EnvironmentKind> {
  const products = generateCatalogue(seed, size);
  const shop: Shop = {
    products: new Map(products.map((product) => [product.asin, product])),
    retriever: await openLocalRetriever(products.map(documentOf)),
  };
  const goals = generateGoals(products, seed);
  const splits = splitsOf(goals);
  const fingerprint = sha256Hex(
    JSON.stringify([NAME, CATALOGUE_REVISION, INSTRUCTION, products, goals, splits]),
    shop.retriever.fingerprint,
  );
  const kind: Kind = { shop, goals, splits, fingerprint };
  return {
    name: NAME,
    fingerprint,
    taskAliases: goals.map((_, index) => String(index)),
    tasks: goals.map((goal, index) => ({ depth: depthOf(goal), split: splits[index] ?? null })),
    create: async () => createEpisode(kind, null),
    groundTruth: (alias) => truthOf(kind, alias),
    close: () => shop.retriever.close(),
  };
}

interface Kind {
  readonly shop: Shop;
  readonly goals: readonly Goal[];
  readonly splits: ReturnType<typeof splitsOf>;
  readonly fingerprint: string;
}

interface Situation {
  readonly goal: Goal;
  readonly page: Page;
}

function createEpisode(kind: Kind, initial: Situation | null): Environment {
  const { shop, goals, splits, fingerprint } = kind;
  let situation = initial;
  const current = (): Situation => {
    if (situation === null) throw new EnvironmentError('gone', 'no task is running: reset first');
    return situation;
  };
  const described = ({ goal, page }: Situation) => ({
    observation: showPage(shop, goal, page),
    admissibleActions: actionsOn(shop, goal, page),
    stateHash: sha256Hex(JSON.stringify([fingerprint, goal.instruction, goal.asin, page])),
  });

  return {
    reset: async ({ alias }) => {
      const index = /^(?:0|[1-9]\d*)$/.test(alias) ? Number(alias) : goals.length;
      const goal = goals[index];
      if (goal === undefined)
        throw new EnvironmentError(
          'unknown-task',
          `${NAME} has tasks 0 to ${goals.length - 1}, not ${JSON.stringify(alias.slice(0, 80))}`,
        );
      situation = { goal, page: { kind: 'search' } };
      return {
        ...described(situation),
        instruction: INSTRUCTION,
        goal: goal.instruction,
        depth: depthOf(goal),
        split: splits[index] ?? null,
      };
    },
    step: async (action, signal) => {
      const { goal, page } = current();
      const next = await browse(shop, goal, page, action, signal);
      situation = { goal, page: next ?? page };
      const bought = next?.kind === 'done' ? next.reward : null;
      const value = bought ?? 0;
      return {
        ...described(situation),
        reward: { value, raw: value, scale: 1, kind: 'final' },
        terminated: bought !== null,
        truncated: false,
        success: bought === null ? null : bought === 1,
        executable: next !== null,
      };
    },
    parse: parseThoughtAction,
    clone: async () => createEpisode(kind, situation), // a situation never changes
    expertAction: async () => planPurchase(shop, current().goal, current().page)[0] ?? null,
    planLength: async () => planPurchase(shop, current().goal, current().page).length,
    close: async () => {
      situation = null;
    },
  };
}

/** A search, a product, each option, and the purchase. */
function depthOf({ options }: Goal): number {
  return options.length + 3;
}

/**
 * What may be done on a page: its clicks, and where it has a search bar the words of each kind of product that the shop has, and
 * the instruction's own. A model that writes its actions may search anything.
 */
function actionsOn(shop: Shop, goal: Goal, page: Page): readonly string[] {
  if (page.kind === 'search')
    return [...PRODUCT_TYPES.map(({ query }) => query), goal.instruction.toLowerCase()].map((words) => `search[${words}]`);
  return [...clickablesOf(shop, page).keys()].map((text) => `click[${text}]`);
}

function truthOf({ goals, splits }: Kind, alias: string): ReturnType<NonNullable<EnvironmentKind['groundTruth']>> {
  const goal = goals[Number(alias)];
  if (!goal) return null;
  const { asin, instruction, attributes, options, priceUpper } = goal;
  return {
    groundTruth: {
      asin,
      instruction,
      attributes: [...attributes],
      goal_options: options.map((option) => ({ ...option })),
      price_upper: priceUpper,
      goal_index: Number(alias),
    },
    dataSource: `${NAME}_${splits[Number(alias)]}`,
  };
}

/**
 * Returns the actions of a buyer who knows which product is wanted: search its title, open it, choose the options, buy. Empty
 * where everything is done.
 */
function planPurchase(shop: Shop, goal: Goal, page: Page): readonly string[] {
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

const FORM = /^([^\n]+)\[([^\n]+)\]/; // greedy, from the start, as the published program reads an action

/**
 * Returns the page that an action leads to; null where it does nothing: it is neither `search[words]` nor a click on what the
 * page shows. As in the published program, a search is possible on every page.
 */
async function browse(shop: Shop, goal: Goal, page: Page, action: string, signal?: AbortSignal): Promise<Page | null> {
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

/** WebShop with products that are made up, as in `webshop-generated:products=100`. */
export const webshopGenerated = defineEnvironment({
  name: 'webshop-generated',
  summary:
    'purchases in a shop by the pages, actions and rewards of WebShop; its catalogue is generated and not the published one',
  options: z.strictObject({
    seed: whole(0, 999_999_999, 'draws products and goals').default(233),
    products: whole(1, 10_000, 'products of the shop').default(1_000),
  }),
  open: openWebShop,
});
