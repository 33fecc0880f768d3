import type { Db } from '../../postgres/database.ts';
import { readPaths } from '../../projections/step-tree/read-paths.ts';
import {
  type BatchManifest,
  type BatchReward,
  type BatchRows,
  type BatchStep,
  type BatchTrajectory,
  RowsError,
} from './batch-rows.ts';
import { type BlobReader, withTexts } from './read-blob.ts';
import { readManifest } from './read-manifest.ts';
import { type RolloutRow, readRewards, readRolloutsOfBatch } from './read-record.ts';
import { type RecordedStep, readRecordedSteps } from './read-recorded-steps.ts';

/**
 * Reads a planned batch with all that its trajectories recorded: paths, texts, token arrays as sampled, spans, rewards in force.
 * @throws RowsError when the batch is unknown, or a part of the record is missing or damaged.
 */
export async function readBatchRows(db: Db, blobs: BlobReader, batchId: string): Promise<BatchRows> {
  const batch = await readManifest(db, batchId);
  const ids = batch.groups.flatMap(({ rolloutIds }) => rolloutIds);
  const rollouts = new Map((await readRolloutsOfBatch(db, ids)).map((row) => [row.rolloutId, row]));
  const leaves = [...rollouts.values()].map(({ leafStepId }) => leafStepId);
  const paths = await readPaths(db, leaves);
  const steps = await readRecordedSteps(db, blobs, [...new Set([...paths.values()].flat())]);
  const rewards = await readRewards(
    db,
    batch.groups.map(({ treeId }) => treeId),
  );
  const world: World = { batch, blobs, rollouts, paths, steps, rewards, unpacked: new Map() };
  const trajectories: BatchTrajectory[] = [];
  for (const [group, { rolloutIds }] of batch.groups.entries())
    for (const rolloutId of rolloutIds) trajectories.push(await trajectoryOf(world, group, rolloutId));
  return { batch, trajectories };
}

interface World {
  readonly batch: BatchManifest;
  readonly blobs: BlobReader;
  readonly rollouts: ReadonlyMap<string, RolloutRow>;
  readonly paths: ReadonlyMap<string, readonly string[]>;
  readonly steps: ReadonlyMap<string, RecordedStep>;
  readonly rewards: ReadonlyMap<string, readonly BatchReward[]>;
  /** Steps that several paths share are unpacked once. */
  readonly unpacked: Map<string, BatchStep>;
}

async function trajectoryOf(world: World, group: number, rolloutId: string): Promise<BatchTrajectory> {
  const { batch, rollouts, paths, rewards, blobs } = world;
  const found = rollouts.get(rolloutId);
  if (!found) throw missing(batch, `rollout ${rolloutId} is not finished in the read models`);
  const rollout = await withTexts(found, blobs, `tree ${found.treeId}`);
  const [root, ...path] = paths.get(rollout.leafStepId) ?? [];
  if (root !== rollout.rootStepId) throw missing(batch, `the path of rollout ${rolloutId} does not reach the root of its tree`);
  const steps: BatchStep[] = [];
  let before = await stepAt(world, root);
  const firstObservation = before.observation;
  for (const stepId of path) {
    steps.push(await unpackedStep(world, stepId, before));
    before = await stepAt(world, stepId);
  }
  const { fromStepId, leafStepId: _leaf, rootStepId: _root, blobs: _blobs, taken, ...said } = rollout;
  const from = [root, ...path].indexOf(fromStepId);
  if (from < 0 || steps.length - from !== taken)
    throw missing(
      batch,
      `rollout ${rolloutId} took ${taken} steps by its end, and its path holds ${steps.length - from} of them`,
    );
  return {
    ...{ ...said, group, firstObservation },
    steps,
    from,
    rewards: rewards.get(rolloutId) ?? [],
  };
}

/** Gives a step of the record with its large texts in place. */
async function stepAt({ steps, batch, blobs }: World, stepId: string): Promise<RecordedStep> {
  const step = steps.get(stepId);
  if (!step) throw missing(batch, `step ${stepId} is not in the read models`);
  return withTexts(step, blobs, `step ${stepId}`);
}

async function unpackedStep(world: World, stepId: string, before: RecordedStep): Promise<BatchStep> {
  const kept = world.unpacked.get(stepId);
  if (kept) return kept;
  const step = await stepAt(world, stepId);
  const { response, action, observation, wellFormatted, executable, trimmed, termination, spans, tokens } = step;
  const unpacked: BatchStep = {
    ...{ stepId, response, action, observation, wellFormatted, executable, trimmed, termination, spans },
    candidates: before.admissible,
    anchor: before.stateHash,
    tokens,
    rewards: world.rewards.get(stepId) ?? [],
  };
  world.unpacked.set(stepId, unpacked);
  return unpacked;
}

function missing({ batchId }: BatchManifest, what: string): RowsError {
  return new RowsError('incomplete', `batch ${batchId}: ${what}; the projections may still be behind the plan`);
}
