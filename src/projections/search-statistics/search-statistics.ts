import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import { insertRows, upsertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/**
 * Folds back-ups into visits and value sums per step (value = valueSum / visits). Values are added one by one in log order, so
 * that any cut into batches yields the same bits; a back-up that was counted before (its event id is known) is not counted again.
 */
export const searchStatistics: Projection = { name: 'search-statistics', version: 1, handles: ['ValueBackedUp'], project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const backups = batch.filter((delivery) => isOf(delivery, 'ValueBackedUp'));
  const ids = backups.map((d) => d.event.id);
  const counted = await sql<{ event_id: string }>`select event_id from backups where event_id = any(${ids}::uuid[])`.execute(trx);
  const seen = new Set(counted.rows.map((row) => row.event_id));
  const fresh = backups.filter(({ event }) => !seen.has(event.id) && seen.add(event.id));
  if (fresh.length === 0) return [];

  const nodes = await statisticsOf([...new Set(fresh.flatMap(({ event }) => event.data.path))], trx);
  for (const { event } of fresh) {
    const { path, value, treeId } = event.data;
    for (const stepId of path) {
      const node = nodes.get(stepId) ?? { step_id: stepId, tree_id: treeId, visits: 0, value_sum: 0 };
      nodes.set(stepId, { ...node, visits: node.visits + 1, value_sum: node.value_sum + value });
    }
  }

  await insertRows(trx, tables.backups, fresh.map(backupRow));
  await upsertRows(trx, tables.node_statistics, [...nodes.values()]);
  return [];
}

type NodeRow = Row<typeof tables.node_statistics>;

async function statisticsOf(stepIds: readonly string[], trx: Trx): Promise<Map<string, NodeRow>> {
  const { rows } = await sql<NodeRow>`
    select step_id, tree_id, visits, value_sum from node_statistics where step_id = any(${stepIds}::uuid[])`.execute(trx);
  return new Map(rows.map((row) => [row.step_id, row]));
}

function backupRow(delivery: Delivery): Row<typeof tables.backups> {
  if (!isOf(delivery, 'ValueBackedUp')) throw new TypeError(`not a back-up: ${delivery.event.type}`);
  const { id, data } = delivery.event;
  return {
    event_id: id,
    tree_id: data.treeId,
    simulation: data.simulation,
    leaf_step_id: data.leafStepId,
    value: data.value,
    path: data.path,
    log_offset: delivery.offset,
  };
}
