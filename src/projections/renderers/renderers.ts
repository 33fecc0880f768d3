import { sha256Hex } from '../../digest/sha256.ts';
import type { Delivery } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/** Folds the renderers that the environments of runs bring; of two under one name, the first. */
export const renderers: Projection = { name: 'renderers', version: 1, handles: ['RunStarted'], project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const rows = new Map<string, Row<typeof tables.renderers>>();
  for (const delivery of batch) {
    if (!isOf(delivery, 'RunStarted')) continue;
    const { runId, environments } = delivery.event.data;
    for (const { environment, renderer } of environments) {
      const key = `${runId} ${environment}`;
      if (renderer !== undefined && !rows.has(key))
        rows.set(key, { runId, environment, sha256: sha256Hex(renderer), source: renderer });
    }
  }
  await insertRows(trx, tables.renderers, [...rows.values()]);
  return [];
}
