import { createRandom } from '../../random/random.ts';
import { seedFrom } from '../../random/seed-from.ts';
import type { Readiness } from '../advantages/estimator.ts';
import { planMicroBatches } from '../batching/micro-batches.ts';
import { judgeGroup, lengthOf } from './judge-group.ts';
import type { PlanRules } from './plan-rules.ts';
import type { LineageState, PoolGroup, PoolSample } from './pool.ts';
import type { RejectedSample } from './rejection.ts';

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
