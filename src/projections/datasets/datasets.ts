import type { Delivery, Envelope } from '../../events/envelope.ts';
import { insertRows, updateRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/**
 * Folds releases and withdrawals of datasets. The first release and the first withdrawal are the facts; a repetition changes
 * nothing. A withdrawal of what was never released goes to quarantine.
 */
export const datasets: Projection = {
  name: 'datasets',
  version: 1,
  handles: ['DatasetReleased', 'DatasetWithdrawn'],
  project,
};

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const known = await knownDatasets(batch, trx);
  const released: ReturnType<typeof releaseRow>[] = [];
  const withdrawn = new Map<string, Pick<Row<typeof tables.datasets>, 'datasetId' | 'withdrawnAt' | 'withdrawReason'>>();
  const poison: Poison[] = [];
  for (const delivery of batch) {
    if (isOf(delivery, 'DatasetReleased')) {
      known.add(delivery.event.data.datasetId);
      released.push(releaseRow(delivery.event));
    }
    if (isOf(delivery, 'DatasetWithdrawn')) {
      const { datasetId, reason } = delivery.event.data;
      if (!known.has(datasetId)) {
        const why = `dataset ${datasetId} was never released; append its DatasetReleased first`;
        poison.push({ delivery, code: 'missing-dataset', field: 'data.datasetId', reason: why });
        continue;
      }
      const row = { datasetId, withdrawnAt: delivery.event.occurredAt, withdrawReason: reason };
      if (!withdrawn.has(datasetId)) withdrawn.set(datasetId, row);
    }
  }
  await insertRows(trx, tables.datasets, released);
  await updateRows(trx, tables.datasets, [...withdrawn.values()], 'withdrawnAt');
  return poison;
}

async function knownDatasets(batch: readonly Delivery[], trx: Trx): Promise<Set<string>> {
  const ids = batch.flatMap((delivery) => (isOf(delivery, 'DatasetWithdrawn') ? [delivery.event.data.datasetId] : []));
  if (ids.length === 0) return new Set();
  const rows = await rowsWhere(trx, 'datasets', { datasetId: ids }, ['datasetId']);
  return new Set(rows.map(({ datasetId }) => datasetId));
}

function releaseRow({
  data,
  occurredAt,
}: Envelope<'DatasetReleased'>): Omit<Row<typeof tables.datasets>, 'withdrawnAt' | 'withdrawReason'> {
  return {
    datasetId: data.datasetId,
    name: data.name,
    version: data.version,
    format: data.format,
    formatVersion: data.formatVersion,
    query: data.query ?? {}, // JSON's null; a recordset would make it the null of SQL
    parameters: data.parameters ?? {},
    position: data.position,
    counts: data.counts ?? {},
    bytes: data.bytes,
    sha256: data.sha256,
    codeVersion: data.codeVersion,
    runs: data.runs,
    releasedAt: occurredAt,
  };
}
