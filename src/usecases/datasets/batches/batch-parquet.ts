import type { HistoryRecord } from '../../../projections/training-pool/batch-history.ts';
import {
  boolean,
  double,
  each,
  instant,
  int32,
  int64,
  list,
  maybe,
  type ParquetShape,
  struct,
  text,
} from '../export/parquet-file.ts';
import { fileNames } from './file-names.ts';

/**
 * One row per batch, and one per rejected sample, distinguished by `kind`: the other kind's columns are null and its lists empty.
 * Methods, rules, shards and metrics are JSON texts: their shape is the method's own.
 */
export const BATCH_HISTORY: ParquetShape = {
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
