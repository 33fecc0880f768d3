import { largest as largestOf } from '../../domain/extremes.ts';
import { groupBy } from '../../domain/group-by.ts';
import { meanAmount, sumAmounts } from '../../domain/reward/amount.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { ConfiguredEstimator } from '../../domain/training/advantages/estimator.ts';
import { configureEstimator } from '../../domain/training/advantages/estimators.ts';
import type { Db } from '../../postgres/database.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import { type GroupWalks, readGroupWalks, type Walk, type WalkStep } from '../../projections/step-tree/read-paths.ts';
import { readEstimatorOfRun } from '../../projections/training-pool/read-training-runs.ts';
import type { EstimatedStep } from '../../training/backends/estimator-batch.ts';
import { estimateSteps } from '../../training/backends/linear/prepare-batch.ts';
import { ReplayRefused } from '../replay/replay-environment.ts';

/**
 * What a rollout's advantage was and would be: the mean over its steps, which estimators of outcomes give all the same. Null where
 * nobody rewarded it: a planner does not train on it.
 */
export interface AdvantagePair {
  readonly before: number | null;
  readonly after: number | null;
}

/** The names by which `espalier train` knows the estimators that it trains by. */
const TRAINED_AS: Readonly<Record<string, string>> = { ppo: 'gae', 'reinforce++': 'reinforce_plus_plus' };

/**
 * Chooses an estimator by its name, or by that of `espalier train`, and options. @throws ReplayRefused that lists those there
 * are.
 */
export function chooseEstimator(name: string, options: Readonly<Record<string, unknown>>): ConfiguredEstimator {
  const configured = configureEstimator(TRAINED_AS[name] ?? name, options);
  if (configured.kind === 'refused') throw new ReplayRefused(configured.reason);
  return configured.estimator;
}

/** Returns the estimator that the policy of a run is trained by; GRPO where the run trains none. */
export async function recordedEstimator(db: Db, runId: string): Promise<ConfiguredEstimator> {
  const recorded = await readEstimatorOfRun(db, runId);
  if (recorded === null) return chooseEstimator('grpo', {});
  return chooseEstimator(recorded.name, recorded.mode as Record<string, unknown>); // the options, as `declareTraining` wrote them
}

/**
 * Estimates the advantages of all groups together, as one batch, in both states: `keyInTree` of a rollout → its pair. A step is a row of one
 * token, as the linear backend lays them out. @throws ReplayRefused with the estimator's reason, where it needs a column that
 * scores alone do not have.
 */
export function estimateAdvantages(
  groups: readonly ScoredGroup[],
  estimators: { readonly before: ConfiguredEstimator; readonly after: ConfiguredEstimator },
): ReadonlyMap<string, AdvantagePair> {
  const before = estimateState(groups, estimators.before, 'before');
  const after = estimateState(groups, estimators.after, 'after');
  return new Map(
    [...before.keys(), ...after.keys()].map((key) => [key, { before: before.get(key) ?? null, after: after.get(key) ?? null }]),
  );
}

function estimateState(
  groups: readonly ScoredGroup[],
  estimator: ConfiguredEstimator,
  state: 'before' | 'after',
): ReadonlyMap<string, number> {
  const rows = groups.flatMap(({ treeId: groupId, members }) =>
    members.flatMap(({ rolloutId: id, rows: own, [state]: total }) => {
      if (total === null) return [];
      const rolloutId = keyInTree(groupId, id);
      return own.map((row, step): EstimatedStep => ({ groupId, rolloutId, step, reward: row[state], stateHash: row.stateHash }));
    }),
  );
  if (rows.length === 0) return new Map();
  const estimated = estimateSteps(estimator, rows);
  if (estimated.kind === 'refused') throw new ReplayRefused(estimated.reason);
  const sums = new Map<string, { sum: number; steps: number }>();
  for (const [row, { rolloutId }] of rows.entries()) {
    const { sum, steps } = sums.get(rolloutId) ?? { sum: 0, steps: 0 };
    sums.set(rolloutId, { sum: sum + (estimated.advantages[row]?.[0] ?? 0), steps: steps + 1 });
  }
  return new Map([...sums].map(([rolloutId, { sum, steps }]) => [rolloutId, sum / steps]));
}

/** What changed in a group. */
export interface GroupChange {
  readonly treeId: string;
  readonly alias: string;
  readonly members: number;
  readonly returns: AdvantagePair;
  /** Members whose return changed, and whose advantage did. */
  readonly otherReturns: number;
  readonly otherAdvantages: number;
  /** Members that were pushed up and would be pushed down, or the other way round. */
  readonly turned: number;
  readonly largest: number;
}

/** Describes how each group changed; those that did not are left out. */
export function changesOf(
  groups: readonly ScoredGroup[],
  advantages: ReadonlyMap<string, AdvantagePair>,
): readonly GroupChange[] {
  return groups.flatMap(({ treeId, alias, members }): GroupChange[] => {
    const pairs = members.flatMap(({ rolloutId }) => advantages.get(keyInTree(treeId, rolloutId)) ?? []);
    const otherReturns = members.filter(({ before, after }) => before !== after).length;
    const otherAdvantages = pairs.filter(({ before, after }) => before !== after).length;
    if (otherReturns + otherAdvantages === 0) return [];
    const known = pairs.flatMap(({ before, after }) => (before === null || after === null ? [] : [{ before, after }]));
    const turned = known.filter(({ before, after }) => before * after < 0).length;
    const largest = largestOf(
      known.map(({ before, after }) => Math.abs(after - before)),
      0,
    );
    const mean = (state: 'before' | 'after') => meanAmount(members.flatMap((member) => member[state] ?? []));
    const returns = { before: mean('before'), after: mean('after') };
    return [{ treeId, alias, members: members.length, returns, otherReturns, otherAdvantages, turned, largest }];
  });
}

/** Writes the change of a group in a line. */
export function describeChange({ treeId, alias, members, returns, otherAdvantages, turned, largest }: GroupChange): string {
  const [before, after] = [returns.before, returns.after].map((value) => value?.toFixed(4) ?? 'unknown');
  const mean = `mean return ${before} → ${after}`;
  const moved = `${otherAdvantages} of ${members} advantages other, by ${largest.toPrecision(3)} at most, ${turned} with the other sign`;
  return `group ${treeId} (${cutText(alias, 60)}): ${mean}; ${moved}`;
}

/** A reward in two states of the record; null where it is not there. On a step, or with `stepId` null on a whole rollout. */
export interface RewardPair {
  readonly rewardId: string;
  readonly stepId: string | null;
  readonly rolloutId: string | null;
  readonly component: string;
  readonly before: number | null;
  readonly after: number | null;
}

/** A finished rollout of a group with its rewards in two states. */
export interface Member {
  readonly rolloutId: string;
  readonly leafStepId: string;
  /** Summed from the root to its leaf, as returns are; null where there is no reward. */
  readonly before: number | null;
  readonly after: number | null;
  /** The steps that it took itself, as a trainer has them: rewards of the rollout stand on the last. */
  readonly rows: readonly { readonly before: number; readonly after: number; readonly stateHash: string | null }[];
}

export interface ScoredGroup {
  readonly treeId: string;
  readonly alias: string;
  readonly members: readonly Member[];
}

/**
 * Sums rewards in two states along the paths of a tree's finished rollouts, exactly, as the read models do.
 */
export async function sumGroup(
  db: Db,
  { treeId, alias }: { readonly treeId: string; readonly alias: string },
  rewards: readonly RewardPair[],
): Promise<ScoredGroup> {
  const { steps, rollouts } = await readGroupWalks(db, treeId);
  const placed = placeRewards(rewards);
  return { treeId, alias, members: rollouts.map((rollout) => memberOf(rollout, steps, placed)) };
}

function memberOf(
  { rolloutId, fromStepId, leafStepId }: Walk,
  steps: GroupWalks['steps'],
  placed: ReadonlyMap<string, readonly RewardPair[]>,
): Member {
  const path: WalkStep[] = [];
  for (let id: string | null = leafStepId; id !== null; ) {
    const step = steps.get(id);
    if (!step) throw new RangeError(`rollout ${rolloutId}: step ${id} is not in the read models`);
    path.push(step);
    id = step.parentStepId;
  }
  path.reverse();
  const ofRollout = placed.get(rolloutId) ?? [];
  const all = [...path.flatMap(({ stepId }) => placed.get(stepId) ?? []), ...ofRollout];
  const from = path.findIndex(({ stepId }) => stepId === fromStepId);
  const own = path.slice(from + 1);
  return {
    rolloutId,
    leafStepId,
    before: returnOf(all, 'before'),
    after: returnOf(all, 'after'),
    rows: own.map(({ stepId }, i) => {
      const mine = [...(placed.get(stepId) ?? []), ...(i === own.length - 1 ? ofRollout : [])];
      const stateHash = path[from + i]?.stateHash ?? null; // of the state before the action
      return { before: sumOf(mine, 'before'), after: sumOf(mine, 'after'), stateHash };
    }),
  };
}

/** Step, or else rollout → its rewards. */
function placeRewards(rewards: readonly RewardPair[]): ReadonlyMap<string, readonly RewardPair[]> {
  return groupBy(rewards, ({ stepId, rolloutId }) => stepId ?? rolloutId ?? ''); // '': on nothing, so that no return counts it
}

function returnOf(rewards: readonly RewardPair[], state: 'before' | 'after'): number | null {
  return rewards.some((reward) => reward[state] !== null) ? sumOf(rewards, state) : null;
}

function sumOf(rewards: readonly RewardPair[], state: 'before' | 'after'): number {
  return sumAmounts(rewards.map((reward) => reward[state] ?? 0));
}
