import { createRandom } from '../../random/random.ts';
import { seedFrom } from '../../random/seed-from.ts';
import type { Readiness } from '../advantages/estimator.ts';
import { planMicroBatches } from '../batching/micro-batches.ts';
import { judgeGroup, lengthOf, type RejectedSample } from './judge-group.ts';
import type { PlanRules } from './plan-rules.ts';
import type { LineageState, PoolGroup, PoolSample } from './pool.ts';

export interface PlanRequest {
  readonly state: LineageState;
  readonly rules: PlanRules;
  readonly readiness: Readiness;
  readonly seed: number;
  /** Every group that holds samples of which nothing final is said, in the order in which they closed; open ones anywhere. */
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
 * Plans all batches that a pool holds. It is a fold over the groups in closing order: each is judged for the next batch, waits, is refused, or
 * is taken; when `groupsPerBatch` are taken they are a batch, and what follows is judged for the one after. A slow group stops nobody.
 *
 * Every batch makes one version, so the version that batch n is trained on is known when it is planned: nothing depends on when trainers acknowledge,
 * nor on how often somebody plans.
 */
export function planBatches({ state, rules, readiness, seed, groups }: PlanRequest): readonly Decision[] {
  const decisions: Decision[] = [];
  let ordinal = state.planned;
  let taken: Taken[] = [];
  const judge = (group: PoolGroup) =>
    judgeGroup(group, { policyId: state.policyId, version: versionOf(state, ordinal), rules, readiness });
  const waiting: PoolGroup[] = [];
  for (const group of groups) {
    const judgement = judge(group);
    if (judgement.kind === 'waiting') {
      waiting.push(group);
      continue;
    }
    for (const sample of judgement.rejected) decisions.push({ kind: 'reject', ...sample });
    if (judgement.kind !== 'fit') continue;
    taken.push({ treeId: group.treeId, members: judgement.chosen });
    if (taken.length < rules.groupsPerBatch || sum(taken, 'sampledTokens') < readiness.trainedTokens) continue;
    if (sum(taken, 'steps') < readiness.trainedSteps) continue;
    const policyVersion = versionOf(state, ordinal);
    decisions.push({ kind: 'plan', batch: composeBatch(taken, { ordinal, policyVersion, rules, seed }) });
    ordinal += 1;
    taken = [];
  }
  // What still waits is measured against the batch that comes after all of these.
  for (const group of waiting) for (const sample of judge(group).rejected) decisions.push({ kind: 'reject', ...sample });
  return decisions;
}

/** The version on which the batch of an ordinal is trained: the newest when those before it are trained. */
export function versionOf({ newestVersion, trained }: LineageState, ordinal: number): number {
  return newestVersion + ordinal - trained;
}

interface Taken {
  readonly treeId: string;
  readonly members: readonly PoolSample[];
}

/** Orders the groups by the seed and not by when they closed: two runs that collect the same groups train the same batch, to the bit. */
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
