import type { Draft } from '../../../append/appender.ts';
import { nextSearchStep, type SearchStep } from '../../../domain/search/next-search-step.ts';
import { applySearchFacts, type SearchFact } from '../../../domain/search/search-facts.ts';
import { startSearch } from '../../../domain/search/search-tree.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { inSpan } from '../../../runtime/tracing.ts';
import { openEpisodes } from '../episodes.ts';
import type { GrowingTree } from '../growing-tree.ts';
import type { SearchPlan } from '../plan.ts';
import { expandNode } from './expand-node.ts';
import { searchRules } from './search-rules.ts';

/** What drives a search besides the tree: what it is to do, and what the record holds of it already, in log order. */
export interface SearchOptions {
  readonly plan: SearchPlan;
  readonly facts: readonly SearchFact[];
}

/**
 * Grows a tree by Monte-Carlo tree search (specification of Agent-R, §1.5). The pure `nextSearchStep` decides; here each decision
 * is carried out and recorded as it happens: a step and its place in the search for every new node, one event when a node is
 * expanded, one per back-up; an expansion and its back-ups are appended at once. A search that was killed anywhere goes on from
 * its facts, and with equal replies reaches the same tree. An aborted signal leaves the rest for a resume.
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
  const pending: Draft[] = [];
  let report = (): void => undefined;
  try {
    for (;;) {
      const step = nextSearchStep(state, params);
      if (step.kind === 'backup') {
        pending.push(backedUp(tree, step));
        state = applySearchFacts(state, [{ ...step, kind: 'backed-up' }]);
        continue;
      }
      if (pending.length > 0) await tree.appender.append(pending.splice(0));
      report();
      if (tree.signal.aborted) return 'stopped';
      if (step.kind === 'finished') return step.reason === 'exhausted' ? 'exhausted' : 'completed';
      const expanded = await inSpan('expand node', { attributes: { 'espalier.step': step.stepId } }, () =>
        expandNode(search, state, step),
      );
      state = expanded.state;
      for (const each of expanded.drafts) pending.push(each);
      report = expanded.report;
    }
  } finally {
    await episodes.close();
  }
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
