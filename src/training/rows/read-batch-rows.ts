import { sql } from 'kysely';
import { configureEstimator } from '../../domain/training/advantages/estimators.ts';
import { findWalkFault } from '../../domain/training/planning/record-fault.ts';
import type { Offsets } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';
import { forgottenAmong } from '../../postgres/stream-keys.ts';
import { keyInTree, type OfTree } from '../../projections/of-tree.ts';
import { readRewardsPosition } from '../../projections/rewards/rewards-at.ts';
import { readPaths } from '../../projections/step-tree/read-paths.ts';
import { readProjected } from '../../projections/wait-until.ts';
import {
  type BatchManifest,
  type BatchReward,
  type BatchRows,
  type BatchStep,
  type BatchTrajectory,
  RowsError,
} from './batch-rows.ts';
import type { BlobReader } from './read-blob.ts';
import { type RolloutRow, readGreedyScores, readRewards, readRewardsAt, readRolloutsOfBatch } from './read-record.ts';
import { type RecordedStep, readRecordedSteps, type TextsOfSteps } from './read-recorded-steps.ts';

/** What of a batch is read. */
export interface BatchPart {
  /** Groups, by their trees; left out, all of them. */
  readonly trees?: ReadonlySet<string>;
  /** Left out, texts are read. */
  readonly texts?: TextsOfSteps;
}

/**
 * Reads a planned batch with all that its trajectories recorded: paths, texts, token arrays as sampled, spans, and the rewards in
 * force of the components that it is trained on, now or as of a position of the log, revisions that came later left
 * out. @param part of a batch that is read in part the trajectories of some groups; its manifest is whole.
 * @throws RowsError when the batch is unknown, or a part of the record is missing or damaged.
 */
export async function readBatchRows(
  db: Db,
  blobs: BlobReader,
  batchId: string,
  rewardsAt: Offsets | 'now' = 'now',
  part: BatchPart = {},
): Promise<BatchRows> {
  return withRewards(db, await readBatchRecord(db, blobs, batchId, part), rewardsAt);
}

/** What is recorded of a batch, or a part of it, but for its rewards. */
interface RecordedBatch {
  readonly batch: BatchManifest;
  /** Those that are read, with their places in the batch. */
  readonly groups: readonly (readonly [place: number, group: BatchManifest['groups'][number]])[];
  /** Rollouts, the paths to their leaves and the steps of these, by `keyInTree`. */
  readonly rollouts: ReadonlyMap<string, RolloutRow>;
  readonly paths: ReadonlyMap<string, readonly string[]>;
  readonly steps: ReadonlyMap<string, RecordedStep>;
}

/** Reads what `readBatchRows` reads but for the rewards: for who wants rows with those of several moments. */
export async function readBatchRecord(
  db: Db,
  blobs: BlobReader,
  batchId: string,
  { trees: wanted, texts = 'texts' }: BatchPart = {},
): Promise<RecordedBatch> {
  const batch = await readManifest(db, batchId);
  const groups = [...batch.groups.entries()].filter(([, { treeId }]) => wanted?.has(treeId) ?? true);
  const members = groups.flatMap(([, { treeId, rolloutIds }]) => rolloutIds.map((id) => ({ treeId, id })));
  await refuseForgotten(db, batch);
  const rows = await readRolloutsOfBatch(db, blobs, members);
  const rollouts = new Map(rows.map((row) => [keyInTree(row.treeId, row.rolloutId), row]));
  const paths = await readPaths(
    db,
    rows.map(({ treeId, leafStepId: id }) => ({ treeId, id })),
  );
  const steps = await readRecordedSteps(db, blobs, stepsOfPaths(rows, paths), texts);
  return { batch, groups, rollouts, paths, steps };
}

/** Returns the steps of the paths to leaves, each once. @param paths by `keyInTree` of their leaves. */
function stepsOfPaths(
  ends: Iterable<{ readonly treeId: string; readonly leafStepId: string }>,
  paths: ReadonlyMap<string, readonly string[]>,
): readonly OfTree[] {
  const steps = new Map<string, OfTree>();
  for (const { treeId, leafStepId } of ends)
    for (const id of paths.get(keyInTree(treeId, leafStepId)) ?? []) steps.set(keyInTree(treeId, id), { treeId, id });
  return [...steps.values()];
}

/** Reads the rewards of a recorded batch, and puts its rows together with them. */
export async function withRewards(db: Db, record: RecordedBatch, rewardsAt: Offsets | 'now'): Promise<BatchRows> {
  const { batch, groups } = record;
  const trees = groups.map(([, { treeId }]) => treeId);
  const weights = batch.rules.rewards;
  const rewardsOf = (of: readonly string[]) =>
    rewardsAt === 'now' ? readRewards(db, of, weights) : readRewardsAt(db, of, rewardsAt, weights);
  const rewards = await rewardsOf(trees);
  const greedy = comparesWithGreedy(batch) ? await readGreedyScores(db, batch.policyId, trees, rewardsOf) : NO_SCORES;
  const world: World = { ...record, rewards, greedy, unpacked: new Map() };
  const trajectories = groups.flatMap(([group, { treeId, rolloutIds }]) =>
    rolloutIds.map((id) => trajectoryOf(world, group, { treeId, id })),
  );
  return { batch, trajectories };
}

/** Placeholders are no tokens to train on. */
async function refuseForgotten(db: Db, { batchId, groups }: BatchManifest): Promise<void> {
  const forgotten = await forgottenAmong(
    db,
    groups.map(({ treeId }) => treeId),
  );
  if (forgotten.size === 0) return;
  throw new RowsError(
    'incomplete',
    `the payload of ${forgotten.size} of the ${groups.length} groups of batch ${batchId} is forgotten`,
  );
}

const NO_SCORES: ReadonlyMap<string, number> = new Map();

function comparesWithGreedy({ estimator: { name, mode } }: BatchManifest): boolean {
  const configured = configureEstimator(name, (mode ?? {}) as Readonly<Record<string, unknown>>); // checked by its rules
  return configured.kind === 'configured' && configured.estimator.readiness.waitsFor === 'greedy-sibling';
}

interface World extends RecordedBatch {
  readonly rewards: ReadonlyMap<string, readonly BatchReward[]>;
  /** Tree of a group → score of the greedy rollout of its task. */
  readonly greedy: ReadonlyMap<string, number>;
  /** Steps that several paths share are unpacked once. */
  readonly unpacked: Map<string, BatchStep>;
}

function trajectoryOf(world: World, group: number, { treeId, id: rolloutId }: OfTree): BatchTrajectory {
  const { batch, rollouts, paths, rewards } = world;
  const rollout = rollouts.get(keyInTree(treeId, rolloutId));
  if (!rollout)
    throw missing(
      batch,
      `rollout ${rolloutId} is not finished in the read models: its end waits in quarantine there, where its tree refused it`,
    );
  const whole = paths.get(keyInTree(treeId, rollout.leafStepId)) ?? [];
  const fault = findWalkFault(rollout, whole);
  if (fault !== null) throw missing(batch, fault);
  const [root = '', ...path] = whole; // it begins at the root
  const steps: BatchStep[] = [];
  let before = stepAt(world, { treeId, id: root });
  const firstObservation = before.observation;
  for (const id of path) {
    steps.push(unpackedStep(world, { treeId, id }, before));
    before = stepAt(world, { treeId, id });
  }
  const greedyScore = world.greedy.get(rollout.treeId);
  // Field by field, here and below: an object made of the rest of another showed in profiles.
  const from = whole.indexOf(rollout.fromStepId);
  const trajectory: BatchTrajectory = {
    rolloutId: rollout.rolloutId,
    treeId: rollout.treeId,
    runId: rollout.runId,
    taskId: rollout.taskId,
    environment: rollout.environment,
    goal: rollout.goal,
    instruction: rollout.instruction,
    outcome: rollout.outcome,
    success: rollout.success,
    temperature: temperatureOf(steps.slice(from), rollout.temperature),
    prompting: rollout.prompting,
    group,
    firstObservation,
    steps,
    from,
    after: before.admissible,
    rewards: rewards.get(keyInTree(treeId, rolloutId)) ?? [],
  };
  return greedyScore === undefined ? trajectory : { ...trajectory, greedyScore };
}

function temperatureOf(own: readonly BatchStep[], ofRun: number | null): number | null {
  const drawn = new Set(own.map(({ temperature }) => temperature ?? ofRun));
  const [one = ofRun] = drawn;
  return drawn.size > 1 ? null : one;
}

function stepAt({ steps, batch }: World, { treeId, id }: OfTree): RecordedStep {
  const step = steps.get(keyInTree(treeId, id));
  if (!step) throw missing(batch, `step ${id} is not in the read models`);
  return step;
}

function unpackedStep(world: World, of: OfTree, before: RecordedStep): BatchStep {
  const key = keyInTree(of.treeId, of.id);
  const kept = world.unpacked.get(key);
  if (kept) return kept;
  const step = stepAt(world, of);
  const { response, message, action, observation, wellFormatted, executable, trimmed, temperature, termination, spans, tokens } =
    step;
  const unpacked: BatchStep = {
    stepId: of.id,
    response,
    message,
    action,
    observation,
    wellFormatted,
    executable,
    trimmed,
    temperature,
    termination,
    spans,
    candidates: before.admissible,
    anchor: before.stateHash,
    tokens,
    rewards: world.rewards.get(key) ?? [],
  };
  world.unpacked.set(key, unpacked);
  return unpacked;
}

function missing({ batchId }: BatchManifest, what: string): RowsError {
  return new RowsError('incomplete', `batch ${batchId}: ${what}, or the projections are still behind the plan`);
}

/** Reads what a batch was planned to hold, in the order of its manifest. @throws RowsError `unknown-batch`. */
export async function readManifest(db: Db, batchId: string): Promise<BatchManifest> {
  const { rows } = await sql<Row>`
    select lineage_id, policy_id, ordinal, policy_version, estimator, rules, seed, samples, shards, manifest_hash,
      (select coalesce(jsonb_agg(g.members order by g.group_ordinal), '[]') from (
        select s.group_ordinal, jsonb_build_object('treeId', s.tree_id, 'rolloutIds', jsonb_agg(s.rollout_id order by s.place)) as members
        from batch_samples s where s.batch_id = b.batch_id group by s.group_ordinal, s.tree_id) g) as groups
    from batches b where batch_id = ${batchId}::uuid`.execute(db);
  const [row] = rows;
  if (!row) throw new RowsError('unknown-batch', `no batch ${batchId} is planned, or its plan is not folded yet`);
  const held = row.groups.reduce((sum, { rolloutIds }) => sum + rolloutIds.length, 0);
  if (held !== row.samples)
    throw new RowsError('incomplete', `batch ${batchId} has ${row.samples} samples, and ${held} are on record`);
  const { samples: _, ...manifest } = row;
  return { batchId, ...manifest };
}

type Row = Omit<BatchManifest, 'batchId'> & { readonly samples: number };

/**
 * Reads a planned batch with the rewards in force, and their position: both in one snapshot, so that the same rows can be read
 * again when a reward was revised since. @param position what the snapshot must hold: without it, what a database lost by a crash
 * would pass for what was never recorded. @throws RowsError; ProjectionsBehind.
 */
export async function readCurrentRows(
  db: Db,
  blobs: BlobReader,
  batchId: string,
  position: Offsets = new Map(),
  part: BatchPart = {},
): Promise<{ readonly rows: BatchRows; readonly rewardsAt: string }> {
  return readProjected(db, position, async (trx) => ({
    rewardsAt: await readRewardsPosition(trx),
    rows: await readBatchRows(trx, blobs, batchId, 'now', part),
  }));
}
