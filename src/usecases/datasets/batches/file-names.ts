import { snakeCase } from '../../../postgres/camel-case.ts';
import type { HistoryRecord } from '../../../projections/training-pool/batch-history.ts';

/** Writes a record by the names of its files; what JSON holds keeps its own. */
export function fileRecord(record: HistoryRecord): Readonly<Record<string, unknown>> {
  if (record.kind === 'rejected') return fileNames(record);
  const { samples, leases, update } = record;
  return {
    ...fileNames(record),
    samples: samples.map(fileNames),
    leases: leases.map(fileNames),
    update: update && fileNames(update),
  };
}

/** Renames the properties of an object, in their order: `batchId` → `batch_id`. */
export function fileNames(record: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [snakeCase(name), value]));
}
