import { sha256Hex } from '../../digest/sha256.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import { canonicalJson } from '../../events/canonical-json.ts';
import { manifestHashOf } from '../../events/manifest-hash.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { type LineageEvents, readLineageEvents, type VersionEvents } from '../../projections/lineage/lineage-events.ts';
import { readTree } from '../../projections/step-tree/read-trees.ts';
import { type LineageRecord, readLineages } from '../../projections/training-pool/read-lineages.ts';
import { readFirstTrainingRun } from '../../projections/training-pool/read-training-runs.ts';
import type { Backend } from '../../training/backends/backend.ts';
import { linearBackend } from '../../training/backends/linear/linear-backend.ts';
import type { TrainingSettings } from '../../training/backends/training-settings.ts';
import { readCheckpoint } from '../../training/checkpoints/checkpoint-store.ts';
import { readManifest } from '../../training/rows/read-batch-rows.ts';
import { computeVersion } from '../train/compute-version.ts';
import { trainerPlan } from '../train/open-backend.ts';
import { readBatchStepsAt } from '../train/train-policy.ts';
import { ReplayRefused } from './replay-environment.ts';
import { type ComparedPart, Comparison, type ReplayReport } from './replay-report.ts';

export interface TrainingReplay {
  readonly policyId: string;
  /**
   * The first version to compute again; 0 is the beginning, another one is computed from the checkpoint of the version before.
   */
  readonly from: number;
  /** The last one; null: the newest. */
  readonly to: number | null;
  readonly signal: AbortSignal;
  readonly progress?: (versions: number, of: number) => void;
}

export interface ReplayedTraining {
  readonly report: ReplayReport;
  /** The run that the last of the batches was collected by: where the replay is put on record. */
  readonly runId: string;
}

/**
 * Trains a policy again as recorded: the batches in their order, each manifest hashed again and chained to the one
 * before; advantages from the rewards in force when the batch was trained, whatever was revised since; every version
 * computed on the one computed before. Compared are the weights, the checkpoint to the last byte (the file on disk too), the
 * metrics to the last bit, and what was acknowledged.
 * @throws ReplayRefused for a policy that is not known, or trained by a backend that does not promise equal bytes.
 */
export async function replayTraining(platform: Platform, replay: TrainingReplay): Promise<ReplayedTraining> {
  const { lineage, settings } = await lineageOf(platform, replay.policyId);
  const lineageEvents = await readLineageEvents(platform.database.db, lineage.lineageId);
  const to = replay.to ?? lineage.newestVersion ?? 0;
  if (replay.from > to || to > (lineage.newestVersion ?? 0))
    throw new ReplayRefused(
      `the policy ${replay.policyId} has the versions 0 to ${lineage.newestVersion ?? 0}; ask for some of them in order`,
    );
  const backend = linearBackend();
  const replaying = {
    platform,
    backend,
    settings,
    lineageEvents,
    policyId: replay.policyId,
    signal: replay.signal,
    comparison: new Comparison('training'),
  };
  let base = replay.from === 0 ? null : await keptCheckpoint(replaying, replay.from - 1);
  for (let version = replay.from; version <= to; version++) {
    replay.signal.throwIfAborted();
    base = await replayVersion(replaying, version, base);
    replay.progress?.(version - replay.from + 1, to - replay.from + 1);
  }
  const { comparison } = replaying;
  return { report: comparison.report(), runId: await runOf(platform, replay.policyId, lineageEvents.versions.get(to)) };
}

async function lineageOf(
  { database }: Platform,
  policyId: string,
): Promise<{ readonly lineage: LineageRecord; readonly settings: TrainingSettings }> {
  const [lineage] = await readLineages(database.db, [policyId]);
  if (!lineage)
    throw new ReplayRefused(`the policy ${policyId} was never declared for training; \`espalier ledger\` lists those that were`);
  const plan = trainerPlan.safeParse(lineage.trainer);
  if (plan.success && plan.data.backend === 'linear') return { lineage, settings: plan.data.settings };
  const by = plan.success ? `the backend ${plan.data.backend}` : 'a trainer of another program';
  throw new ReplayRefused(
    `the policy ${policyId} was trained by ${by}: only the linear backend promises equal bytes for equal inputs, sums of others change with device and library`,
  );
}

interface Replaying {
  readonly platform: Platform;
  readonly backend: Backend;
  readonly settings: TrainingSettings;
  readonly lineageEvents: LineageEvents;
  readonly policyId: string;
  readonly signal: AbortSignal;
  readonly comparison: Comparison;
}

/** Computes one version again and compares it; returns the checkpoint that the next one is computed from. */
async function replayVersion(replaying: Replaying, version: number, base: Uint8Array | null): Promise<Uint8Array | null> {
  const { lineageEvents, comparison } = replaying;
  const events = lineageEvents.versions.get(version);
  const part = (eventId: string | null, field: string, recorded: unknown, replayed: unknown): ComparedPart => ({
    at: { eventId, stepId: null, field: `version ${version}, ${field}` },
    recorded,
    replayed,
  });
  if (!events) {
    comparison.compareParts([part(null, 'PolicyUpdated', 'known to the read models', 'not in the journal')]);
    return keptCheckpoint(replaying, version);
  }
  const { update, checkpoint } = events;
  const made = await makeAgain(replaying, events, base);
  const onDisk = await fileOf(replaying, events);
  const kept = checkpoint?.data.kept?.blob ?? null;
  const equal = comparison.compareParts([
    ...planParts(replaying, events, part),
    ...(made.kind === 'failed'
      ? [part(update.id, 'rows', 'a batch that was trained', made.reason)]
      : [
          part(update.id, 'weights', update.data.weights, made.weights),
          part(update.id, 'metrics', sorted(update.data.metrics), sorted(made.metrics)),
          part(update.id, 'estimator', canonicalJson(update.data.estimator), canonicalJson(made.estimator)),
          part(update.id, 'loss', canonicalJson(update.data.loss), canonicalJson(made.loss)),
          part(checkpoint?.id ?? null, 'checkpoint', kept, sha256Hex(made.checkpoint)),
        ]),
    part(checkpoint?.id ?? null, 'checkpoint file', 'whole', onDisk),
  ]);
  if (equal && made.kind === 'made') return made.checkpoint;
  // What follows is judged by itself: one version that differs does not make all that resulted from it differ, where its
  // checkpoint is there.
  const recorded = await keptCheckpoint(replaying, version);
  return recorded ?? (made.kind === 'made' ? made.checkpoint : null);
}

/** What the plan of a batch says of itself, and what was acknowledged. */
function planParts(
  { lineageEvents }: Replaying,
  { update, batch, ack }: VersionEvents,
  part: (eventId: string | null, field: string, recorded: unknown, replayed: unknown) => ComparedPart,
): readonly ComparedPart[] {
  const { version, batchId, checkpointId } = update.data;
  if (version === 0) return [part(update.id, 'batch', batchId, null)];
  if (!batch) return [part(update.id, 'batch', batchId, 'not in the journal')];
  const { manifestHash, ...manifest } = batch.data;
  const before = lineageEvents.batches.get(batch.data.ordinal - 1)?.data.manifestHash ?? null;
  return [
    part(batch.id, 'manifestHash', manifestHash, manifestHashOf(manifest)),
    part(batch.id, 'previousHash', manifest.previousHash, before),
    part(batch.id, 'ordinal', manifest.ordinal, ordinalOf(lineageEvents, version)),
    part(ack?.id ?? null, 'acknowledged version', ack?.data.version ?? 'nothing', version),
    part(ack?.id ?? null, 'acknowledged checkpoint', ack?.data.checkpointId ?? 'nothing', checkpointId),
    part(update.id, 'parentVersion', update.data.parentVersion, version - 1),
  ];
}

/** The ordinal of the batch that makes a version: batches follow one another, and those that were abandoned make none. */
function ordinalOf({ abandoned }: LineageEvents, version: number): number {
  let [ordinal, left] = [0, version - 1];
  for (; left > 0 || abandoned.has(ordinal); ordinal++) if (!abandoned.has(ordinal)) left -= 1;
  return ordinal;
}

type Made =
  | {
      readonly kind: 'made';
      readonly checkpoint: Uint8Array;
      readonly weights: string;
      readonly estimator: unknown;
      readonly loss: unknown;
      readonly metrics: Readonly<Record<string, number>>;
    }
  | { readonly kind: 'failed'; readonly reason: string };

async function makeAgain(replaying: Replaying, { update, batch }: VersionEvents, base: Uint8Array | null): Promise<Made> {
  const { backend, policyId, settings, signal } = replaying;
  if (update.data.version === 0) {
    const checkpoint = await backend.initial(seedFrom('initial', policyId));
    return {
      kind: 'made',
      checkpoint,
      weights: sha256Hex(backend.weightsOf(checkpoint)),
      estimator: null,
      loss: null,
      metrics: {},
    };
  }
  if (!batch) return { kind: 'failed', reason: 'its batch is not in the journal' };
  if (!base) return { kind: 'failed', reason: 'the version before could neither be computed nor read' };
  try {
    const rows = await rowsOf(replaying, { update, batch });
    const version = update.data.version - 1;
    const input = { policyId, backend, settings, batch: batch.data, version, checkpoint: base, rows };
    const updated = await computeVersion(input, signal);
    // Earlier trainers reported no estimator where they estimated nothing, and the lease service then wrote that of the plan.
    const events = update.data.estimator;
    const silent = updated.estimator === null && canonicalJson(events) === canonicalJson(batch.data.estimator);
    const estimator = silent ? events : updated.estimator;
    return { ...updated, kind: 'made', estimator };
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'failed', reason: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Reads the rows of a batch as they were when it was trained. @throws Error when the read models hold another batch than the
 * journal.
 */
async function rowsOf(
  { platform, comparison }: Replaying,
  events: Required<Pick<VersionEvents, 'update'>> & { readonly batch: NonNullable<VersionEvents['batch']> },
) {
  const { db } = platform.database;
  const { batchId, groups, seed } = events.batch.data;
  const { rewardsAt = null } = events.update.data;
  const planned = await readManifest(db, batchId);
  if (canonicalJson([planned.seed, planned.groups]) !== canonicalJson([seed, groups]))
    throw new Error(
      `batch ${batchId} holds other samples in the read models than in the journal: \`espalier rebuild training-pool\``,
    );
  if (rewardsAt === null)
    comparison.note(
      'some versions were recorded without the position of their rewards: those known when their batch was planned are taken',
    );
  return readBatchStepsAt({ db, blobs: platform.blobs }, { batchId, rewardsAt: rewardsAt ?? events.batch.data.position });
}

/**
 * Reads the recorded checkpoint of a version; null when it is not there, damaged, or holds other weights than the record says.
 */
async function keptCheckpoint({ platform, backend, lineageEvents }: Replaying, version: number): Promise<Uint8Array | null> {
  const head = headOf(lineageEvents.versions.get(version));
  return head && readCheckpoint(platform.blobs, backend, head).catch(() => null);
}

async function fileOf({ platform, backend }: Replaying, events: VersionEvents): Promise<string> {
  const head = headOf(events);
  if (!head) return 'its CheckpointSaved is not in the journal';
  return readCheckpoint(platform.blobs, backend, head).then(
    () => 'whole',
    (error: Error) => error.message,
  );
}

function headOf(events: VersionEvents | undefined) {
  if (!events?.checkpoint) return null;
  const { checkpointId, backend, kept } = events.checkpoint.data;
  return { version: events.update.data.version, checkpointId, backend, weights: events.update.data.weights, kept };
}

/** Returns the run of the last version's batch; for a version without a batch the first run that trains the policy. */
async function runOf({ database }: Platform, policyId: string, events: VersionEvents | undefined): Promise<string> {
  const treeId = events?.batch?.data.groups[0]?.treeId;
  const { db } = database;
  const tree = treeId === undefined ? undefined : await readTree(db, treeId);
  const runId = tree?.runId ?? (await readFirstTrainingRun(db, policyId));
  if (runId !== null) return runId;
  throw new ReplayRefused(`no run collects for the policy ${policyId}: there is nothing to put the replay on record at`);
}

function sorted(metrics: Readonly<Record<string, number>>): readonly (readonly [string, number])[] {
  return Object.entries(metrics).sort(([a], [b]) => (a < b ? -1 : 1));
}
