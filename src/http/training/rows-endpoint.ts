import type { IncomingMessage } from 'node:http';
import { parsePosition } from '../../log/position.ts';
import type { Db } from '../../postgres/database.ts';
import { readBatchesById } from '../../projections/training-pool/read-batches.ts';
import { isProjected } from '../../projections/wait-until.ts';
import { findBatchBehind, findCurrentLease } from '../../training/leases/current-lease.ts';
import { RowsError } from '../../training/rows/batch-rows.ts';
import { LAYOUTS, type Layout } from '../../training/rows/layout.ts';
import { createExclusive } from '../ingest/exclusive.ts';
import { createGate } from '../ingest/gate.ts';
import { json, type Reply, refuse } from '../reply.ts';
import { refusalReply } from './answers.ts';
import type { PackedRows } from './packed-rows.ts';

const IN_FLIGHT = 32; // requests; more come back
const LANES = 2; // batches read at once: each is held whole, some 13 bytes a token

/** Makes the endpoint for rows: `GET /v1/training/leases/{id}/rows?layout=step|verl`, to the holder of a lease that stands. */
export function createRowsEndpoint(options: {
  readonly db: Db;
  readonly packed: PackedRows;
}): (req: IncomingMessage, leaseId: string) => Promise<Reply> {
  const { db, packed } = options;
  const gate = createGate(IN_FLIGHT);
  const lanes = createExclusive();
  let asked = 0;
  return async (req, leaseId) => {
    const layout = layoutOf(req);
    if (layout === undefined)
      return refuse(400, `layout is none of ${LAYOUTS.join(', ')}`, 'ask for ?layout=step or ?layout=verl');
    const lease = await findCurrentLease(db, leaseId);
    if (lease.kind === 'refused') return refusalReply(lease);
    // When these rows are sent and not before: packing would hold the event loop that sends them. While they are trained there is
    // time.
    req.once('close', () => void packBehind(leaseId, layout).catch(() => undefined));
    const ticket = gate.enter();
    if (!ticket) return refuse(503, 'too many batches are being read', 'ask again', { headers: { 'retry-after': '1' } });
    try {
      return await lanes.run([`${asked++ % LANES}`], () => rowsReply({ db, packed }, lease.batchId, layout, req));
    } finally {
      ticket.leave();
    }
  };

  /** Packs the next batch, if it is planned; a fault is met by who asks for its rows. */
  async function packBehind(leaseId: string, layout: Layout): Promise<void> {
    const batchId = await findBatchBehind(db, leaseId);
    if (batchId !== undefined) await lanes.run([`${asked++ % LANES}`], () => packed.get(batchId, layout));
  }
}

function layoutOf(req: IncomingMessage): Layout | undefined {
  const given = new URL(req.url ?? '/', 'http://localhost').searchParams.get('layout') ?? 'step';
  return LAYOUTS.find((layout) => layout === given);
}

async function rowsReply(
  { db, packed }: { readonly db: Db; readonly packed: PackedRows },
  batchId: string,
  layout: Layout,
  req: IncomingMessage,
): Promise<Reply> {
  try {
    const encoded = await packed.get(batchId, layout);
    if (encoded.kind === 'refused')
      return json(422, { error: { code: 'layout', message: encoded.message, remedy: encoded.remedy } });
    const headers = { 'content-type': 'application/x-safetensors', etag: `"${encoded.digest}"` };
    if (req.headers['if-none-match'] === headers.etag) return { status: 304, headers, body: '' };
    const at = encoded.rewardsAt === null ? {} : { 'espalier-rewards-at': encoded.rewardsAt };
    return { status: 200, headers: { ...headers, ...at }, body: encoded.parts };
  } catch (error) {
    if (error instanceof RowsError) return recordReply(error, await holdsPlanOf(db, batchId));
    throw error;
  }
}

/** Whether the read models hold all that the planner of a batch had read. */
async function holdsPlanOf(db: Db, batchId: string): Promise<boolean> {
  const [batch] = await readBatchesById(db, [batchId]);
  return batch !== undefined && (await isProjected(db, parsePosition(batch.position)));
}

function recordReply({ code, message, unreadable }: RowsError, complete: boolean): Reply {
  if (unreadable && (complete || code === 'tokens'))
    return json(410, {
      error: {
        code: 'unreadable',
        message,
        remedy: 'abandon the batch (POST /v1/training/leases/{id}/abandon) and lease the next one: no reader will get these rows',
      },
    });
  if (code !== 'blob')
    return json(
      503,
      { error: { code, message, remedy: 'ask again; GET /readyz says how far the projections are' } },
      { 'retry-after': '1' },
    );
  return json(500, { error: { code, message, remedy: 'give the batch back (nack) until the record is repaired' } });
}
