import type { Draft } from '../../../append/appender.ts';
import { nextSearchStep, type SearchStep } from '../../../domain/search/next-search-step.ts';
import { applySearchFacts, type SearchFact } from '../../../domain/search/search-facts.ts';
import { type SearchState, startSearch } from '../../../domain/search/search-tree.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { closeEpisodes, openEpisodes } from '../episodes.ts';
import type { GrowingTree } from '../growing-tree.ts';
import type { SearchPlan } from '../plan.ts';
import { expandNode, type Search } from './expand-node.ts';
import { searchRules } from './search-rules.ts';

/** What drives a search besides the tree: what it is to do, and what the record holds of it already, in log order. */
export interface SearchOptions {
  readonly plan: SearchPlan;
  readonly facts: readonly SearchFact[];
}

/**
 * Grows a tree by Monte-Carlo tree search (specification of Agent-R, §1.5). The pure `nextSearchStep` decides; here each decision
 * is carried out and recorded as it happens: a step and its place in the search for every new node, one event when a node is
 * expanded, one per back-up. A search that was killed anywhere goes on from its facts, and with equal replies reaches the same
 * tree. An aborted signal leaves the rest for a resume.
 */
export async function growSearch(
  given: GrowingTree,
  { plan, facts }: SearchOptions,
): Promise<'completed' | 'exhausted' | 'stopped'> {
  let state = applySearchFacts(startSearch(given.rootStepId), facts);
  const rules = searchRules(given, plan);
  const { tree } = rules;
  const { compat, ...sizes } = plan;
  const params = { ...sizes, valueScale: compat?.rewardScale ?? 1, tieBreak: rules.tieBreak(() => state) };
  const episodes = openEpisodes(tree);
  const search = { tree, rules, episodes, params };
  try {
    for (;;) {
      if (tree.signal.aborted) return 'stopped';
      const step = nextSearchStep(state, params);
      if (step.kind === 'finished') return step.reason === 'exhausted' ? 'exhausted' : 'completed';
      state = await carryOut(search, state, step);
    }
  } finally {
    await closeEpisodes(episodes);
  }
}

async function carryOut(
  search: Search,
  state: SearchState,
  step: Exclude<SearchStep, { kind: 'finished' }>,
): Promise<SearchState> {
  if (step.kind === 'expand') return expandNode(search, state, step);
  const { tree } = search;
  await tree.appender.append([backedUp(tree, step)]);
  return applySearchFacts(state, [{ ...step, kind: 'backed-up' }]);
}

/** A leaf is backed up once, so its id names the event. */
function backedUp(tree: GrowingTree, { simulation, leafStepId, value, path }: SearchStep & { kind: 'backup' }): Draft {
  return {
    type: 'ValueBackedUp',
    id: derivedId('ValueBackedUp', tree.treeId, leafStepId),
    correlationId: tree.runId,
    causationId: derivedId('NodeAdded', leafStepId),
    data: { treeId: tree.treeId, simulation, leafStepId, value, path: [...path] },
  };
}
