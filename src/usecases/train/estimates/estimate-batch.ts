import { smallest } from '../../../domain/extremes.ts';
import type { Reach } from '../../../domain/training/advantages/estimator.ts';
import { configureEstimator } from '../../../domain/training/advantages/estimators.ts';
import { type RefusedOption, refuseOption } from '../../../domain/training/method-options.ts';
import { parsePosition } from '../../../log/position.ts';
import type { Db } from '../../../postgres/database.ts';
import { keyInTree } from '../../../projections/of-tree.ts';
import { readRewardsPosition } from '../../../projections/rewards/rewards-at.ts';
import { readProjected } from '../../../projections/wait-until.ts';
import { CheckpointDamaged } from '../../../training/backends/backend.ts';
import { penalisesRewards } from '../../../training/backends/estimator-batch.ts';
import { linearBackend } from '../../../training/backends/linear/linear-backend.ts';
import { needsWeights } from '../../../training/backends/linear/prepare-batch.ts';
import { type StepRow, stepRowsOf } from '../../../training/backends/step-row.ts';
import { trainingSettings } from '../../../training/backends/training-settings.ts';
import { readCheckpoint } from '../../../training/checkpoints/checkpoint-store.ts';
import { type BatchRows, type BatchStep, type BatchTrajectory, RowsError } from '../../../training/rows/batch-rows.ts';
import { ownSteps } from '../../../training/rows/jagged.ts';
import { type BatchPart, readBatchRecord, withRewards } from '../../../training/rows/read-batch-rows.ts';
import type { BlobReader } from '../../../training/rows/read-blob.ts';
import type { RowAdvantages, StepAdvantages } from '../../../training/rows/step-layout.ts';
import { type BatchUpdate, readBatchUpdate } from '../../../training/versions/read-batch-update.ts';
import {
  type BatchEstimates,
  type RecomputedAdvantages,
  type RewardsOf,
  type RowEstimate,
  recomputeAdvantages,
  type SampleEstimate,
  type StepEstimate,
} from './recompute-advantages.ts';

/**
 * Shows a batch to its estimator again: inputs and advantages, from the rewards of now or from those that it was trained on (of
 * an update that does not say at which position it read them: those at the position of the plan). @throws RowsError when the
 * batch is not planned or the read models do not hold it whole.
 */
export async function estimateBatch(db: Db, blobs: BlobReader, batchId: string, rewards: RewardsOf): Promise<BatchEstimates> {
  const update = await readUpdate(db, batchId);
  const [read] = await readRows(db, blobs, batchId, update, { rewards: [rewards] });
  return estimatesOf(read, update, blobs);
}

/** The same from the rewards of now and from those trained on: what else is recorded of the batch is read once. */
export async function estimateBothWays(
  db: Db,
  blobs: BlobReader,
  batchId: string,
): Promise<Readonly<Record<RewardsOf, BatchEstimates>>> {
  const update = await readUpdate(db, batchId);
  const [now, trained] = await readRows(db, blobs, batchId, update, { rewards: ['now', 'trained'] });
  return { now: await estimatesOf(now, update, blobs), trained: await estimatesOf(trained, update, blobs) };
}

async function estimatesOf({ rows, rewardsAt }: RewardedRows, update: BatchUpdate, blobs: BlobReader): Promise<BatchEstimates> {
  const stepRows = stepRowsOf(rows);
  const found = await advantagesOf(stepRows, update, blobs);
  const samples = samplesOf(rows, stepRows, found.kind === 'recomputed' ? found : null);
  return {
    batchId: rows.batch.batchId,
    method: update.method,
    rewardsAt,
    samples,
    grain: found.kind === 'recomputed' ? found.grain : null,
    reason: found.kind === 'refused' ? found.reason : null,
    agrees: agreesWith(update.metrics, samples, found.kind === 'recomputed' ? found.spread : {}),
  };
}

/**
 * Shows some groups of a batch to its estimator again: the samples that `estimateBatch` returns of them, without reading the
 * others. Null where the advantages of a group follow from the batch as a whole. @throws what `estimateBatch` throws.
 */
export async function estimateGroups(
  db: Db,
  blobs: BlobReader,
  batchId: string,
  { rewards, trees }: { readonly rewards: RewardsOf; readonly trees: ReadonlySet<string> },
): Promise<readonly SampleEstimate[] | null> {
  const update = await readUpdate(db, batchId);
  if (reachOf(update) === 'batch') return null;
  const [{ rows }] = await readRows(db, blobs, batchId, update, { rewards: [rewards], trees });
  const stepRows = stepRowsOf(rows);
  const found = await advantagesOf(stepRows, update, blobs);
  return samplesOf(rows, stepRows, found.kind === 'recomputed' ? found : null);
}

async function readUpdate(db: Db, batchId: string): Promise<BatchUpdate> {
  const update = await readBatchUpdate(db, batchId);
  if (!update) throw new RowsError('unknown-batch', `no batch ${batchId} is planned, or its plan is not folded yet`);
  return update;
}

interface RewardedRows {
  readonly rows: BatchRows;
  /** The position of their rewards. */
  readonly rewardsAt: string;
}

/** Reads rows, once for all that their rewards are of, and the positions of these rewards, in one snapshot. */
async function readRows<const Wanted extends readonly RewardsOf[]>(
  db: Db,
  blobs: BlobReader,
  batchId: string,
  update: BatchUpdate,
  { rewards, ...which }: Pick<BatchPart, 'trees'> & { readonly rewards: Wanted },
): Promise<{ readonly [K in keyof Wanted]: RewardedRows }> {
  // the weights of a linear policy read texts; estimators do not
  const part: BatchPart = { ...which, texts: update.backend === 'linear' ? 'texts' : 'no-texts' };
  const trained = update.rewardsAt ?? update.plannedAt;
  return readProjected(db, new Map(), async (trx) => {
    const record = await readBatchRecord(trx, blobs, batchId, part);
    const found: RewardedRows[] = [];
    for (const of of rewards)
      found.push({
        rewardsAt: of === 'now' ? await readRewardsPosition(trx) : trained,
        rows: await withRewards(trx, record, of === 'now' ? 'now' : parsePosition(trained)),
      });
    return found as { readonly [K in keyof Wanted]: RewardedRows }; // one for each
  });
}

/** Asks the estimator of an update, with what its training was declared with. @throws what reading the checkpoint throws. */
export async function advantagesOf(
  rows: ReturnType<typeof stepRowsOf>,
  { method, backend, settings, base }: BatchUpdate,
  blobs: BlobReader,
): Promise<RecomputedAdvantages | RefusedOption> {
  if (method === null) return refuseOption('the update names no estimator');
  const declared = trainingSettings.safeParse(settings);
  try {
    return await recomputeAdvantages({
      rows,
      method,
      backend,
      ...(declared.success ? { settings: declared.data } : {}),
      async readBase() {
        if (base === null) throw new CheckpointDamaged('the checkpoint that the batch is trained from is not on record');
        return readCheckpoint(blobs, linearBackend(), base);
      },
    });
  } catch (error) {
    if (error instanceof CheckpointDamaged) return refuseOption(error.message);
    throw error;
  }
}

const ROUNDING = 1e-9; // sums of an update that another program made may be taken in another order

/**
 * Compares what was computed again with what the update measured of itself: mean return, mean and deviation of its advantages.
 * Null where it measured none of these. @param spread `advantageMean` and `advantageDeviation`.
 */
function agreesWith(
  metrics: Readonly<Record<string, number>> | null,
  samples: readonly SampleEstimate[],
  spread: Readonly<Record<string, number>>,
): boolean | null {
  if (metrics === null) return null;
  const mean = samples.reduce((sum, sample) => sum + sample.return, 0) / Math.max(1, samples.length);
  const pairs = Object.entries({ return: mean, ...spread }).flatMap(([name, value]) => {
    const recorded = metrics[name];
    return recorded === undefined ? [] : [{ value, recorded }];
  });
  if (pairs.length === 0) return null;
  return pairs.every(({ value, recorded }) => Math.abs(value - recorded) <= ROUNDING * Math.max(1, Math.abs(recorded)));
}

/**
 * Returns whether the advantages that `advantagesOf` computes of a group follow from its rows alone, or from the batch. A row of
 * another group may have the whole batch refused: a group is read alone only of an update that our own trainers made.
 */
export function reachOf({ method, backend, settings, metrics }: Made): Reach {
  if (method === null) return 'group'; // no advantages
  const options = (method.mode ?? {}) as Readonly<Record<string, unknown>>; // each option is checked by its rule
  const configured = configureEstimator(method.name, options);
  if (configured.kind === 'refused' || configured.estimator.revision !== method.revision) return 'group'; // refused, whatever rows
  if (metrics === null || (backend !== 'linear' && backend !== 'torch')) return 'batch';
  const { estimator } = configured;
  const { data: declared } = trainingSettings.safeParse(settings);
  // what reads weights is refused outside linear policies, whatever the rows; there KL and corrections look at whole batches
  if (needsWeights(estimator) || (declared && penalisesRewards(declared))) return backend === 'linear' ? 'batch' : 'group';
  if ((declared?.processRewards?.normalisation ?? 'none') !== 'none') return 'batch';
  return estimator.reach;
}
type Made = Pick<BatchUpdate, 'method' | 'backend' | 'settings' | 'metrics'>;

/**
 * Puts together what is recorded of the samples of a batch, or of some of its groups, and what an estimator made of them. @param
 * rows of `stepRowsOf`: own steps in the order of the batch.
 */
export function samplesOf(
  { batch, trajectories }: BatchRows,
  rows: readonly StepRow[],
  found: RecomputedAdvantages | null,
): readonly SampleEstimate[] {
  const members = batch.groups.flatMap(({ treeId, rolloutIds }) => rolloutIds.map((id) => keyInTree(treeId, id)));
  const places = new Map(members.map((key, place) => [key, place]));
  let first = 0;
  return trajectories.map((trajectory): SampleEstimate => {
    const place = places.get(keyInTree(trajectory.treeId, trajectory.rolloutId)) ?? 0; // the manifest names every trajectory
    const own = ownSteps(trajectory);
    const ofOwn = rows.slice(first, first + own.length);
    first += own.length;
    let from = 0;
    const steps = own.map((step, i) => {
      const sampled = { sample: place, from };
      from += ofOwn[i]?.tokens?.ids.length ?? 0;
      return stepOf(batch, trajectory, { step, sampled }, ofOwn[i], found);
    });
    const oldest = smallest(ofOwn.map(({ version }) => version));
    return {
      batchId: batch.batchId,
      rolloutId: trajectory.rolloutId,
      treeId: trajectory.treeId,
      place,
      rewards: trajectory.rewards,
      return: ofOwn.reduce((sum, { reward }) => sum + reward, 0),
      steps,
      advantage: found && mean(ofOwn.flatMap((row) => [...(found.ofRow.get(row)?.advantages ?? [])])),
      staleness: finite(batch.policyVersion - oldest),
    };
  });
}

function stepOf(
  { batchId, policyVersion }: BatchRows['batch'],
  { treeId }: BatchTrajectory,
  { step: { stepId, rewards, anchor, tokens }, sampled }: { readonly step: BatchStep } & Pick<StepEstimate, 'sampled'>,
  row: StepRow | undefined,
  found: RecomputedAdvantages | null,
): StepEstimate {
  const estimate = (row && found?.ofRow.get(row)) ?? null;
  // field by field, as rows are laid out
  return {
    batchId,
    treeId,
    stepId,
    rewards,
    anchor,
    number: row?.step ?? 0,
    reward: row?.reward ?? 0,
    tokenCount: tokens?.ids.length ?? null,
    maskLength: row?.tokens?.ids.length ?? null,
    sampled,
    logProb: row?.tokens?.logProbs ? finite(row.tokens.logProbs.reduce((sum, value) => sum + value, 0)) : null,
    staleness: row ? finite(policyVersion - row.version) : null,
    value: estimate?.value ?? null,
    bootstrap: estimate?.bootstrap ?? null,
    target: estimate && finite(estimate.returns[0]),
    advantage: estimate && mean(estimate.advantages),
    tokenAdvantages: estimate && apart(estimate),
  };
}

function apart({ advantages }: RowEstimate): readonly number[] | null {
  return advantages.every((value) => value === advantages[0]) ? null : [...advantages];
}

/** Returns the mean; of equal numbers that number itself, whatever rounding would make of their sum. */
function mean(values: ArrayLike<number>): number | null {
  const all = Array.from(values);
  if (all.every((value) => value === all[0])) return finite(all[0]);
  return finite(all.reduce((sum, value) => sum + value, 0) / all.length);
}

function finite(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}

/**
 * Estimates the advantages of the rows of a batch for a trainer elsewhere: by the functions that our own trainers call, from the
 * rewards in the rows. Refused, with the reason, where they depend on what only the trainer knows, such as a critic's values.
 */
export async function rowAdvantages(db: Db, blobs: BlobReader, rows: BatchRows): Promise<RowAdvantages> {
  const update = await readBatchUpdate(db, rows.batch.batchId);
  if (!update?.method) return { kind: 'refused', reason: 'the training of the batch estimates no advantage' };
  const stepRows = stepRowsOf(rows);
  const found = await advantagesOf(stepRows, update, blobs);
  if (found.kind === 'refused') return found;
  const ofStep = new Map<string, StepAdvantages>();
  const own = rows.trajectories.flatMap(ownSteps);
  for (const [i, row] of stepRows.entries()) {
    const estimate = found.ofRow.get(row);
    const step = own[i];
    if (estimate && step) ofStep.set(keyInTree(row.groupId, step.stepId), estimate);
  }
  return { kind: 'estimated', method: update.method, ofStep };
}
