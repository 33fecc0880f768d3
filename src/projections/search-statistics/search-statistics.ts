import type { Delivery } from '../../events/envelope.ts';
import { insertRows, upsertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/**
 * Folds back-ups into visits and value sums per step (value = valueSum / visits). Values are added one by one in log order, so
 * that any cut into batches yields the same bits; a back-up that was counted before (its event is known in its tree) is not
 * counted again.
 */
export const searchStatistics: Projection = { name: 'search-statistics', version: 2, handles: ['ValueBackedUp'], project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const backups = batch.filter((delivery) => isOf(delivery, 'ValueBackedUp'));
  const trees = [...new Set(backups.map((d) => d.event.stream))];
  const ids = backups.map((d) => d.event.id);
  const counted = await rowsWhere(trx, 'backups', { treeId: trees, eventId: ids }, ['treeId', 'eventId']);
  const seen = new Set(counted.map(({ treeId, eventId }) => `${treeId} ${eventId}`));
  const fresh = backups.filter(({ event: { stream, id } }) => !seen.has(`${stream} ${id}`) && seen.add(`${stream} ${id}`));
  if (fresh.length === 0) return [];

  const nodes = await statisticsOf([...new Set(fresh.flatMap(({ event }) => event.data.path))], trees, trx);
  for (const { event } of fresh) {
    const { path, value, treeId } = event.data;
    for (const stepId of path) {
      const key = `${treeId} ${stepId}`;
      const node = nodes.get(key) ?? { stepId, treeId, visits: 0, valueSum: 0 };
      nodes.set(key, { ...node, visits: node.visits + 1, valueSum: node.valueSum + value });
    }
  }

  await insertRows(trx, tables.backups, fresh.map(backupRow));
  await upsertRows(trx, tables.nodeStatistics, [...nodes.values()]);
  return [];
}

type NodeRow = Row<typeof tables.nodeStatistics>;

/** Reads what was counted of steps, by their tree and id with a blank between. */
async function statisticsOf(stepId: readonly string[], treeId: readonly string[], trx: Trx): Promise<Map<string, NodeRow>> {
  const rows = await rowsWhere(trx, 'nodeStatistics', { stepId, treeId }, ['stepId', 'treeId', 'visits', 'valueSum']);
  return new Map(rows.map((row) => [`${row.treeId} ${row.stepId}`, row]));
}

function backupRow(delivery: Delivery): Row<typeof tables.backups> {
  if (!isOf(delivery, 'ValueBackedUp')) throw new TypeError(`not a back-up: ${delivery.event.type}`);
  const { id, data } = delivery.event;
  return {
    eventId: id,
    treeId: data.treeId,
    simulation: data.simulation,
    leafStepId: data.leafStepId,
    value: data.value,
    path: data.path,
    logOffset: delivery.offset,
  };
}
