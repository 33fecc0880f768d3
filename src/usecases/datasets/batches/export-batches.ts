import { snakeCase } from '../../../postgres/camel-case.ts';
import type { Db } from '../../../postgres/database.ts';
import type { BatchRecord, HistoryRecord } from '../../../projections/training-pool/batch-history.ts';
import {
  type BatchHistoryCounts,
  countBatchHistory,
  readBatchHistory,
} from '../../../projections/training-pool/read-batch-history.ts';
import { trainingPool } from '../../../projections/training-pool/training-pool.ts';
import { DatasetError } from '../dataset-error.ts';
import { AtomicFile, type Existing, publishWithManifest, refuseManifest } from '../export/atomic-file.ts';
import type { ByteSink } from '../export/format.ts';
import { floats, jsonLine } from '../export/json-line.ts';
import {
  boolean,
  double,
  each,
  instant,
  int32,
  int64,
  list,
  maybe,
  ParquetFile,
  type ParquetShape,
  struct,
  text,
} from '../export/parquet-file.ts';
import { readSnapshot, type SnapshotPosition } from '../export/snapshot.ts';

export interface BatchExportOptions {
  readonly db: Db;
  /** Policies whose history is taken; null takes all. */
  readonly policies: readonly string[] | null;
  /** One JSON line, or one row of Parquet, per batch and per rejected sample. */
  readonly container: 'jsonl' | 'parquet';
  readonly out: string;
  readonly existing: Existing;
  readonly codeVersion: string;
  readonly waitMs: number;
  readonly signal: AbortSignal;
  readonly onProgress: (records: number) => void;
}

/** What a file of batches is and where it comes from: no clock and no machine, so the same history yields the same bytes. */
export interface BatchManifest {
  readonly schema: 'espalier-batches-manifest/1';
  readonly format: { readonly kind: 'batches'; readonly container: BatchExportOptions['container'] };
  readonly formatVersion: 1 | 2;
  readonly policies: readonly string[] | null;
  readonly codeVersion: string;
  readonly position: SnapshotPosition;
  readonly counts: BatchCounts;
  /**
   * Batches whose hash is not that of their content, or does not follow that of the batch before: none, or the record was
   * changed.
   */
  readonly unchained: readonly string[];
  readonly bytes: number;
  readonly sha256: string;
}

interface BatchCounts {
  readonly batches: number;
  readonly trained: number;
  readonly leases: number;
  /** Samples of all batches, and of those that were trained. */
  readonly samples: number;
  readonly trainedSamples: number;
  /** Reason → rejected samples. */
  readonly rejected: Readonly<Record<string, number>>;
}

/**
 * Writes the history of batches as one file and a manifest, from one snapshot, in memory bounded by some batches. @throws
 * DatasetError; the file is then absent or as it was before.
 */
export async function exportBatches(options: BatchExportOptions): Promise<BatchManifest> {
  const { db, policies, container, out, existing, codeVersion, waitMs, signal, onProgress } = options;
  if (existing === 'refuse') await refuseManifest(out);
  const file = await AtomicFile.open(out, existing);
  try {
    const { tally, position } = await readSnapshot(db, [trainingPool], { waitMs, signal }, async (trx, at) => {
      const writer = openWriter(file, container);
      const counted = new Tally();
      for await (const record of readBatchHistory(trx, policies)) {
        signal.throwIfAborted();
        await writer.write(record);
        onProgress(counted.add(record));
      }
      await writer.finish();
      refuseDifference(await countBatchHistory(trx, policies), counted.counts());
      return { tally: counted, position: at };
    });
    if (tally.records === 0)
      throw new DatasetError(
        'nothing-matches',
        `there is no batch and no rejected sample${policies ? ` of ${policies.join(', ')}` : ''}; a run feeds batches when it is collected with training: {policyId, channel: "train"}`,
      );
    const { bytes, sha256 } = await file.seal();
    const manifest: BatchManifest = {
      schema: 'espalier-batches-manifest/1',
      format: { kind: 'batches', container },
      formatVersion: container === 'jsonl' ? 2 : 1,
      policies,
      codeVersion,
      position,
      counts: tally.counts(),
      unchained: tally.unchained,
      bytes,
      sha256,
    };
    await publishWithManifest(file, `${JSON.stringify(manifest, null, 2)}\n`, existing);
    return manifest;
  } finally {
    await file.discard();
  }
}

function refuseDifference(counted: BatchHistoryCounts, { rejected, ...written }: BatchCounts): void {
  const inFile = { ...written, rejected: Object.values(rejected).reduce((sum, count) => sum + count, 0) };
  for (const what of ['batches', 'samples', 'trained', 'rejected'] as const)
    if (counted[what] !== inFile[what])
      throw new DatasetError(
        'incomplete',
        `the read model counts ${counted[what]} ${what}, and yields ${inFile[what]} of them; compare it with the log (espalier replay projections), then export again`,
      );
}

interface Writer {
  write(record: HistoryRecord): Promise<void>;
  finish(): Promise<void>;
}

function openWriter(sink: ByteSink, container: BatchExportOptions['container']): Writer {
  if (container === 'jsonl')
    return { write: (record) => sink.write(jsonLine(fileRecord(record))), finish: () => Promise.resolve() };
  const file = new ParquetFile(sink, BATCH_HISTORY);
  return {
    write: (record) => file.write(batchRow(record), record.kind === 'batch' ? 2_000 + 500 * record.samples.length : 500),
    finish: () => file.finish(),
  };
}

class Tally {
  records = 0;
  readonly unchained: string[] = [];
  readonly #sums = { batches: 0, trained: 0, leases: 0, samples: 0, trainedSamples: 0 };
  readonly #rejected = new Map<string, number>();

  /** Returns the number of records so far. */
  add(record: HistoryRecord): number {
    if (record.kind === 'rejected') this.#rejected.set(record.reason, (this.#rejected.get(record.reason) ?? 0) + 1);
    else this.#addBatch(record);
    this.records += 1;
    return this.records;
  }

  counts(): BatchCounts {
    return { ...this.#sums, rejected: Object.fromEntries([...this.#rejected].sort(([a], [b]) => (a < b ? -1 : 1))) };
  }

  #addBatch({ batchId, samples, leases, update, chained }: BatchRecord): void {
    this.#sums.batches += 1;
    this.#sums.leases += leases.length;
    this.#sums.samples += samples.length;
    if (update) {
      this.#sums.trained += 1;
      this.#sums.trainedSamples += samples.length;
    }
    if (!chained) this.unchained.push(batchId);
  }
}

/**
 * One row per batch, and one per rejected sample, distinguished by `kind`: the other kind's columns are null and its lists empty.
 * Methods, rules, shards and metrics are JSON texts: their shape is the method's own.
 */
const BATCH_HISTORY: ParquetShape = {
  name: 'batches/1',
  columns: [
    ...each(text, 'kind', 'policy_id', 'lineage_id'),
    ...each(maybe(text), 'batch_id'),
    ...each(maybe(int32), 'ordinal', 'policy_version'),
    ...each(maybe(text), 'estimator', 'rules'),
    ...each(maybe(int64), 'seed'),
    ...each(maybe(text), 'position'),
    ...each(maybe(int64), 'tokens'),
    ...each(maybe(text), 'shards', 'previous_hash', 'manifest_hash'),
    ...each(maybe(boolean), 'chained'),
    ...each(maybe(instant), 'planned_at'),
    list(
      'samples',
      struct('element', [
        text('rollout_id'),
        text('tree_id'),
        int32('group_ordinal'),
        int32('place'),
        ...each(maybe(text), 'outcome'),
        ...each(maybe(boolean), 'success'),
        ...each(maybe(int32), 'oldest_version', 'newest_version'),
        ...each(maybe(int64), 'sampled_tokens'),
        list('scores', struct('element', [text('component'), double('value')])),
      ]),
    ),
    list(
      'leases',
      struct('element', [
        text('lease_id'),
        int64('fence'),
        ...each(maybe(text), 'consumer'),
        ...each(maybe(instant), 'leased_at', 'deadline', 'ended_at'),
        ...each(maybe(text), 'ended_by', 'end_reason'),
      ]),
    ),
    ...each(maybe(text), 'acked_lease_id'),
    ...each(maybe(instant), 'acked_at'),
    ...each(maybe(int32), 'version', 'parent_version'),
    ...each(maybe(text), 'checkpoint_id', 'weights', 'loss', 'metrics'),
    ...each(maybe(text), 'rollout_id', 'tree_id', 'reason', 'rule'),
    ...each(maybe(double), 'measured'),
    ...each(maybe(instant), 'rejected_at'),
  ],
};

/** Writes a record as a row of `BATCH_HISTORY`. */
export function batchRow(record: HistoryRecord): Readonly<Record<string, unknown>> {
  if (record.kind === 'rejected') return { ...fileNames(record), samples: [], leases: [] };
  const { estimator, rules, shards, seed, tokens, samples, leases, update, ...rest } = record;
  return {
    ...fileNames(rest),
    estimator: JSON.stringify(estimator),
    rules: JSON.stringify(rules),
    shards: JSON.stringify(shards),
    seed: BigInt(seed),
    tokens: BigInt(tokens),
    samples: samples.map(({ scores, sampledTokens, ...sample }) => ({
      ...fileNames(sample),
      sampled_tokens: sampledTokens === null ? null : BigInt(sampledTokens),
      scores: Object.entries(scores).map(([component, value]) => ({ component, value })),
    })),
    leases: leases.map(({ fence, ...lease }) => ({ ...fileNames(lease), fence: BigInt(fence) })),
    acked_lease_id: update?.leaseId,
    acked_at: update?.ackedAt,
    version: update?.version,
    parent_version: update?.parentVersion,
    checkpoint_id: update?.checkpointId,
    weights: update?.weights,
    loss: update?.loss && JSON.stringify(update.loss),
    metrics: update?.metrics && JSON.stringify(update.metrics),
  };
}

/** Writes a record by the names of its files; what JSON holds keeps its own. */
function fileRecord(record: HistoryRecord): Readonly<Record<string, unknown>> {
  if (record.kind === 'rejected') return fileNames({ ...record, measured: floats(record.measured) });
  const { samples, leases, update, estimator, rules } = record;
  return {
    ...fileNames({ ...record, estimator: floats(estimator), rules: withFloats(rules, ['rewards', 'band']) }),
    samples: samples.map((sample) => fileNames({ ...sample, scores: floats(sample.scores) })),
    leases: leases.map(fileNames),
    update: update && fileNames({ ...update, loss: floats(update.loss), metrics: floats(update.metrics) }),
  };
}

/** Renames the properties of an object, in their order: `batchId` → `batch_id`. */
function fileNames(record: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [snakeCase(name), value]));
}

/** Counts stay whole: budgets, groups, versions. */
function withFloats(value: unknown, names: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, names.includes(name) ? floats(each) : each]));
}
