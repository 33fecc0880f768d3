import { sql } from 'kysely';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import { stampOf } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/** Folds which spans wait until those of their rollout are placed in the order of their times. */
export const heldSpans: Projection = {
  ...{ name: 'held-spans', version: 1, handles: ['SpanReceived', 'CallCaptured', 'RolloutFinished'], project },
};

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const received: Row<typeof tables.heldSpans>[] = [];
  const [calls, rollouts]: [string[], string[]] = [[], []];
  for (const delivery of batch) {
    if (isOf(delivery, 'SpanReceived')) received.push(rowOf(delivery.event));
    if (isOf(delivery, 'CallCaptured') && delivery.event.data.source === 'trace') calls.push(delivery.event.data.callId);
    if (isOf(delivery, 'RolloutFinished')) rollouts.push(delivery.event.data.rolloutId);
  }
  // what places a span comes behind it in the stream that they share, and a span that is received again changes nothing
  await insertRows(trx, tables.heldSpans, received);
  if (calls.length > 0)
    await sql`update held_spans set placed = true where span_id = any(${calls}::uuid[]) and not ends`.execute(trx);
  if (rollouts.length > 0)
    await sql`update held_spans set placed = true where rollout_id = any(${rollouts}::uuid[])`.execute(trx);
  return [];
}

function rowOf(event: Envelope<'SpanReceived'>): Row<typeof tables.heldSpans> {
  const { spanId, treeId, rolloutId, run, task, rollout, kind, endsRollout } = event.data;
  const { principal, project } = stampOf(event);
  return {
    ...{ spanId, treeId, rolloutId, run, task, rollout, principal, project },
    ...{ ends: endsRollout, placed: kind !== 'model' && !endsRollout, receivedAt: event.occurredAt },
  };
}
