import { snakeCase } from '../../../postgres/camel-case.ts';
import type { HistoryRecord } from '../../../projections/training-pool/batch-history.ts';
import { floats } from '../export/json-line.ts';

/** Writes a record by the names of its files; what JSON holds keeps its own. */
export function fileRecord(record: HistoryRecord): Readonly<Record<string, unknown>> {
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
export function fileNames(record: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [snakeCase(name), value]));
}

/** Counts stay whole: budgets, groups, versions. */
function withFloats(value: unknown, names: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, names.includes(name) ? floats(each) : each]));
}
