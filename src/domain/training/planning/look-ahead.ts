import { awaitedComponents } from './awaited-components.ts';
import { judgeGroup } from './judge-group.ts';
import { type PlanRequest, planBatches, versionOf } from './plan-batches.ts';

/** What closed groups wait for, by what follows from a pool now. */
export interface PoolOutlook {
  /** Batches that can be planned, and rejections that would be said. */
  readonly batches: number;
  readonly rejections: number;
  /** Groups that are fit and too few for a batch. */
  readonly ready: number;
  /** Closed groups that wait for rewards, how many members lack one, and which components they lack, by their names. */
  readonly unscored: { readonly groups: number; readonly members: number; readonly components: readonly string[] };
  /** Closed groups that wait for a greedy rollout of their task. */
  readonly greedy: number;
}

/** Looks at a pool as a planner would, and says what it would do and what keeps the rest. */
export function lookAhead(request: PlanRequest): PoolOutlook {
  const { state, rules, readiness, groups } = request;
  const decisions = planBatches(request);
  const planned = new Set(
    decisions.flatMap((each) => (each.kind === 'plan' ? each.batch.groups.map(({ treeId }) => treeId) : [])),
  );
  const batches = decisions.filter(({ kind }) => kind === 'plan').length;
  const version = versionOf(state, state.planned + batches);
  let [ready, greedy, groupsUnscored, membersUnscored] = [0, 0, 0, 0];
  const awaited = awaitedComponents(rules);
  const lacking = new Set<string>();
  for (const group of groups) {
    if (planned.has(group.treeId)) continue;
    const judged = judgeGroup(group, { policyId: state.policyId, version, rules, readiness }, Number.POSITIVE_INFINITY);
    if (judged.kind === 'fit') ready += 1;
    if (judged.kind !== 'waiting') continue;
    if (judged.for === 'greedy-sibling') greedy += 1;
    if (judged.for !== 'reward') continue;
    const members = group.samples.filter(({ scoredMs, rejected }) => scoredMs === null && rejected === null);
    groupsUnscored += 1;
    membersUnscored += members.length;
    for (const name of awaited) if (members.some(({ scores }) => !Object.hasOwn(scores, name))) lacking.add(name);
  }
  const unscored = { groups: groupsUnscored, members: membersUnscored, components: [...lacking].sort() };
  return { batches, rejections: decisions.length - batches, ready, unscored, greedy };
}
