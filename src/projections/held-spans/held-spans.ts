import { type RawBuilder, sql } from 'kysely';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import { stampOf } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/** Folds which spans wait until those of their rollout are placed in the order of their times. */
export const heldSpans: Projection = {
  name: 'held-spans',
  version: 2,
  handles: ['SpanReceived', 'CallCaptured', 'RolloutFinished'],
  project,
};

/** What places a span comes after it in the stream that they share: what comes before it in the batch changes nothing of it. */
async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const received = new Map<string, Row<typeof tables.heldSpans>>(); // by tree and span, with a blank between
  const calls: Placed = { ids: [], trees: [] };
  const rollouts: Placed = { ids: [], trees: [] };
  for (const delivery of batch) {
    if (isOf(delivery, 'SpanReceived')) {
      const { spanId, treeId } = delivery.event.data;
      const key = `${treeId} ${spanId}`;
      if (!received.has(key)) received.set(key, rowOf(delivery.event));
    }
    if (isOf(delivery, 'CallCaptured') && delivery.event.data.source === 'trace') {
      const { callId, treeId } = delivery.event.data;
      add(calls, callId, treeId);
      const key = `${treeId} ${callId}`;
      const span = received.get(key);
      if (span && !span.ends) received.set(key, { ...span, placed: true });
    }
    if (isOf(delivery, 'RolloutFinished')) {
      const { rolloutId, treeId } = delivery.event.data;
      add(rollouts, rolloutId, treeId);
      for (const [key, span] of received)
        if (span.rolloutId === rolloutId && span.treeId === treeId) received.set(key, { ...span, placed: true });
    }
  }
  // before the spans of the batch are written: of those it says above what places them
  if (calls.ids.length > 0)
    await sql`update held_spans h set placed = true from ${listed(calls)} where h.span_id = e.id and h.tree_id = e.tree_id
      and not h.ends`.execute(trx);
  if (rollouts.ids.length > 0)
    await sql`update held_spans h set placed = true from ${listed(rollouts)}
      where h.rollout_id = e.id and h.tree_id = e.tree_id`.execute(trx);
  await insertRows(trx, tables.heldSpans, [...received.values()]);
  return [];
}

/** Calls or rollouts, each of its tree: what another tree says under the same id places nothing. */
interface Placed {
  readonly ids: string[];
  readonly trees: string[];
}

function add({ ids, trees }: Placed, id: string, treeId: string): void {
  ids.push(id);
  trees.push(treeId);
}

function listed({ ids, trees }: Placed): RawBuilder<unknown> {
  return sql`unnest(${ids}::uuid[], ${trees}::uuid[]) as e (id, tree_id)`;
}

function rowOf(event: Envelope<'SpanReceived'>): Row<typeof tables.heldSpans> {
  const { spanId, treeId, rolloutId, run, task, rollout, kind, endsRollout } = event.data;
  const { principal, project } = stampOf(event);
  return {
    spanId,
    treeId,
    rolloutId,
    run,
    task,
    rollout,
    principal,
    project,
    ends: endsRollout,
    placed: kind !== 'model' && !endsRollout,
    receivedAt: event.occurredAt,
  };
}
