import { createRandom } from '../../random/random.ts';
import { seedFrom } from '../../random/seed-from.ts';
import type { Readiness } from '../advantages/estimator.ts';
import { planMicroBatches } from '../batching/micro-batches.ts';
import { judgeGroup, lengthOf } from './judge-group.ts';
import { awaitedComponents, type PlanRules } from './plan-rules.ts';
import type { LineageState, PoolGroup, PoolSample } from './pool.ts';
import type { RecordFault, RejectedSample } from './record-fault.ts';

export interface PlanRequest {
  readonly state: LineageState;
  readonly rules: PlanRules;
  readonly readiness: Readiness;
  readonly seed: number;
  /** Every group that holds samples of which nothing final is said, in any order. */
  readonly groups: readonly PoolGroup[];
}

/** A batch before it has ids: which members of which groups, trained on `policyVersion`, cut into `shards` of places. */
export interface DraftBatch {
  readonly ordinal: number;
  readonly policyVersion: number;
  readonly groups: readonly { readonly treeId: string; readonly rolloutIds: readonly string[] }[];
  readonly samples: number;
  readonly tokens: number;
  readonly shards: readonly (readonly number[])[];
}

/** What follows from a pool, in order: rejections stand before the batch that was planned after them. */
export type Decision = ({ readonly kind: 'reject' } & RejectedSample) | { readonly kind: 'plan'; readonly batch: DraftBatch };

/**
 * Plans all batches that a pool holds. It is a fold over the moments at which a group may become ready (it closes, a reward that
 * it waits for comes, its greedy sibling ends), in their order: at each the group is judged for the next batch by what was known
 * then, and waits, is refused, or is taken; when `groupsPerBatch` are taken they are a batch, and what follows is judged for the
 * one after. So a planner that looks once decides as one that looked at every moment, and a slow group stops nobody.
 *
 * Every batch that is trained makes one version, so the version that batch n is trained on is known when it is planned: nothing
 * depends on when trainers acknowledge, nor on how often somebody plans.
 */
export function planBatches({ state, rules, readiness, seed, groups }: PlanRequest): readonly Decision[] {
  const decisions: Decision[] = [];
  let ordinal = state.planned;
  let taken: Taken[] = [];
  const judge = (group: PoolGroup, atMs: number) =>
    judgeGroup(group, { policyId: state.policyId, version: versionOf(state, ordinal), rules, readiness }, atMs);
  const waiting = new Set(groups);
  let moments = momentsOf(groups, rules, readiness);
  let passed = 0; // moments at which a group went on waiting
  for (let i = 0; i < moments.length; i++) {
    const { group, atMs } = moments[i] as Moment; // i is below the length
    if (!waiting.has(group)) continue;
    const judgement = judge(group, atMs);
    if (judgement.kind === 'waiting') {
      passed += 1;
      continue;
    }
    waiting.delete(group);
    for (const sample of judgement.rejected) decisions.push({ kind: 'reject', ...sample });
    if (judgement.kind !== 'fit') continue;
    taken.push({ treeId: group.treeId, members: judgement.chosen });
    if (taken.length < rules.groupsPerBatch || sum(taken, 'sampledTokens') < readiness.trainedTokens) continue;
    if (sum(taken, 'steps') < readiness.trainedSteps) continue;
    const policyVersion = versionOf(state, ordinal);
    decisions.push({ kind: 'plan', batch: composeBatch(taken, { ordinal, policyVersion, rules, seed }) });
    ordinal += 1;
    taken = [];
    if (passed === 0) continue;
    // A group that waited for a member's reward need not wait any more when the member is too old for the next batch: it is
    // judged again for that one.
    moments = moments.filter((moment) => waiting.has(moment.group));
    [i, passed] = [-1, 0];
  }
  // What still waits is measured against the batch that comes after all of these.
  for (const group of waiting)
    for (const sample of judge(group, Infinity).rejected) decisions.push({ kind: 'reject', ...sample });
  return decisions;
}

interface Moment {
  readonly group: PoolGroup;
  readonly atMs: number;
}

/** Lists when each group may become ready, in the order of the moments; of one moment, by tree. */
function momentsOf(groups: readonly PoolGroup[], { unscored }: PlanRules, { waitsFor }: Readiness): readonly Moment[] {
  const moments = groups.flatMap((group): Moment[] => {
    const { closedMs, greedyMs, samples } = group;
    if (closedMs === null) return [];
    const awaited = [
      ...(unscored === 'wait' ? samples.map(({ scoredMs }) => scoredMs) : []),
      ...(waitsFor === 'greedy-sibling' ? [greedyMs] : []),
    ];
    const later = awaited.filter((ms) => ms !== null && ms > closedMs) as number[]; // the filter leaves no null
    return [...new Set([closedMs, ...later])].map((atMs) => ({ group, atMs }));
  });
  return moments.sort((a, b) => a.atMs - b.atMs || (a.group.treeId < b.group.treeId ? -1 : 1));
}

/**
 * The version on which the batch of an ordinal is trained: the newest when those before it are trained. Of an abandoned one comes
 * no version.
 */
export function versionOf({ newestVersion, trained, abandoned }: LineageState, ordinal: number): number {
  return newestVersion + ordinal - trained - abandoned;
}

interface Taken {
  readonly treeId: string;
  readonly members: readonly PoolSample[];
}

/**
 * Orders the groups by the seed and not by when they closed: two runs that collect the same groups train the same batch, to the
 * bit.
 */
function composeBatch(
  taken: readonly Taken[],
  { ordinal, policyVersion, rules, seed }: { ordinal: number; policyVersion: number; rules: PlanRules; seed: number },
): DraftBatch {
  const byId = taken.toSorted((a, b) => (a.treeId < b.treeId ? -1 : 1));
  const ordered = createRandom(seedFrom('batch', seed, ordinal)).shuffle(byId);
  const lengths = ordered.flatMap(({ members }) => members.map((sample) => lengthOf(sample, rules)));
  const cut = planMicroBatches(lengths, rules.tokenBudget);
  if (cut.kind === 'refused') throw new RangeError(cut.reason); // a bug: a sample over the budget was judged too long
  return {
    ordinal,
    policyVersion,
    groups: ordered.map(({ treeId, members }) => ({ treeId, rolloutIds: members.map(({ rolloutId }) => rolloutId) })),
    samples: lengths.length,
    tokens: lengths.reduce((sum, length) => sum + length, 0),
    shards: cut.batches,
  };
}

/** Adds up what the members of all taken groups have: tokens, or steps where rows are steps. */
function sum(taken: readonly Taken[], what: 'sampledTokens' | 'steps'): number {
  return taken.reduce((total, { members }) => members.reduce((own, sample) => own + sample[what], total), 0);
}

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

interface MixedMember {
  readonly treeId: string;
  readonly rolloutId: string;
  readonly fault: RecordFault;
}

/**
 * Finds the members of the first mixed batch that were sampled at another temperature than most of it (of equally many, the lowest
 * one counts); none where every batch has one temperature. What follows that batch is planned again, so its members are not
 * looked at.
 */
export function findMixedMembers(
  decisions: readonly Decision[],
  temperatureOf: (treeId: string, rolloutId: string) => number | undefined,
): readonly MixedMember[] {
  for (const decision of decisions) {
    if (decision.kind !== 'plan') continue;
    const members = decision.batch.groups.flatMap(({ treeId, rolloutIds }) =>
      rolloutIds.map((rolloutId) => ({ treeId, rolloutId, temperature: temperatureOf(treeId, rolloutId) })),
    );
    const counts = new Map<number, number>();
    for (const { temperature } of members)
      if (temperature !== undefined) counts.set(temperature, (counts.get(temperature) ?? 0) + 1);
    const [[usual] = []] = [...counts].sort(([a, x], [b, y]) => y - x || a - b);
    if (counts.size < 2) continue;
    return members.flatMap(({ treeId, rolloutId, temperature }) => {
      if (temperature === undefined || temperature === usual) return [];
      const rule = `it was sampled at temperature ${temperature}, and its batch at ${usual}; an update has one temperature, so collect at one`;
      return [{ treeId, rolloutId, fault: { reason: 'other-distribution', rule, measured: temperature } }];
    });
  }
  return [];
}
