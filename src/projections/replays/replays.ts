import type { Delivery, Envelope } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/** Folds what was done over from the record, and whether it came out the same. */
export const replays: Projection = { name: 'replays', version: 1, handles: ['ReplayFinished'], project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const rows = batch.flatMap((delivery) => (isOf(delivery, 'ReplayFinished') ? [rowOf(delivery.event)] : []));
  await insertRows(trx, tables.replays, rows);
  return [];
}

function rowOf({ data, occurredAt }: Envelope<'ReplayFinished'>): Row<typeof tables.replays> {
  return {
    replayId: data.replayId,
    runId: data.runId,
    mode: data.mode,
    outcome: data.outcome,
    compared: data.compared,
    differing: data.differing,
    differences: data.differences,
    notes: data.notes,
    parameters: data.parameters ?? {}, // JSON's null; a recordset would make it the null of SQL
    codeVersion: data.codeVersion,
    seconds: data.seconds,
    finishedAt: occurredAt,
  };
}
