import { sha256Hex } from '../../digest/sha256.ts';
import { parseThoughtAction } from '../../domain/prompts/parse-thought-action.ts';
import { INSTRUCTIONS } from '../agentgym/instructions.ts';
import { type Environment, EnvironmentError, type EnvironmentKind } from '../environment.ts';
import { openLocalRetriever } from '../retrieval/local-retriever.ts';
import { browse } from './browse.ts';
import { CATALOGUE_REVISION, generateCatalogue } from './catalogue.ts';
import { generateGoals, splitsOf } from './goals.ts';
import type { Page } from './page.ts';
import { planPurchase } from './plan.ts';
import type { Goal } from './product.ts';
import { documentOf, type Shop } from './shop.ts';
import { clickablesOf, showPage } from './show-page.ts';
import { PRODUCT_TYPES } from './vocabulary.ts';

export interface WebShopOptions {
  /** Draws catalogue and goals. */
  readonly seed: number;
  readonly products: number;
}

const NAME = 'webshop-generated';

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
    JSON.stringify([NAME, CATALOGUE_REVISION, INSTRUCTIONS.webshop, products, goals, splits]),
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
        instruction: INSTRUCTIONS.webshop,
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
