import type { HistoryRecord } from '../../../projections/training-pool/batch-history.ts';
import {
  boolean,
  type Column,
  double,
  instant,
  int32,
  int64,
  list,
  optional,
  type ParquetShape,
  struct,
  text,
} from '../export/parquet-file.ts';
import { fileNames } from './file-names.ts';

const maybe = (names: readonly string[], column: (name: string) => Column): readonly Column[] =>
  names.map((name) => optional(column(name)));

/**
 * One row per batch, and one per rejected sample, distinguished by `kind`: the other kind's columns are null and its lists empty.
 * Methods, rules, shards and metrics are JSON texts: their shape is the method's own.
 */
export const BATCH_HISTORY: ParquetShape = {
  name: 'batches/1',
  columns: [
    ...['kind', 'policy_id', 'lineage_id'].map((name) => text(name)),
    ...maybe(['batch_id'], text),
    ...maybe(['ordinal', 'policy_version'], int32),
    ...maybe(['estimator', 'rules'], text),
    ...maybe(['seed'], int64),
    ...maybe(['position'], text),
    ...maybe(['tokens'], int64),
    ...maybe(['shards', 'previous_hash', 'manifest_hash'], text),
    ...maybe(['chained'], boolean),
    ...maybe(['planned_at'], instant),
    list(
      'samples',
      struct('element', [
        text('rollout_id'),
        text('tree_id'),
        int32('group_ordinal'),
        int32('place'),
        ...maybe(['outcome'], text),
        ...maybe(['success'], boolean),
        ...maybe(['oldest_version', 'newest_version'], int32),
        ...maybe(['sampled_tokens'], int64),
        list('scores', struct('element', [text('component'), double('value')])),
      ]),
    ),
    list(
      'leases',
      struct('element', [
        text('lease_id'),
        int64('fence'),
        ...maybe(['consumer'], text),
        ...maybe(['leased_at', 'deadline', 'ended_at'], instant),
        ...maybe(['ended_by', 'end_reason'], text),
      ]),
    ),
    ...maybe(['acked_lease_id'], text),
    ...maybe(['acked_at'], instant),
    ...maybe(['version', 'parent_version'], int32),
    ...maybe(['checkpoint_id', 'weights', 'loss', 'metrics'], text),
    ...maybe(['rollout_id', 'tree_id', 'reason', 'rule'], text),
    ...maybe(['measured'], double),
    ...maybe(['rejected_at'], instant),
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
