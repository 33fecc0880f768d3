import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { parsePosition } from '../../log/position.ts';
import type { Db } from '../../postgres/database.ts';
import { readBatchesById } from '../../projections/training-pool/read-batches.ts';
import { isProjected } from '../../projections/wait-until.ts';
import { limitOf } from '../../runtime/limit.ts';
import { findBatchBehind, findStatedLease, type StatedBatch } from '../../training/leases/lease.ts';
import { RowsError } from '../../training/rows/batch-rows.ts';
import { LAYOUTS } from '../../training/rows/layout.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { createGate } from '../ingest/gate.ts';
import { refusals } from '../openapi.ts';
import { json, type Reply, refuse } from '../reply.ts';
import type { PackedRows } from './packed-rows.ts';
import type { RowFormat } from './row-format-hints.ts';
import { decided, leaseId, NEEDS, type TrainingWorld } from './training-endpoint.ts';

const SAFETENSORS = 'application/x-safetensors';
const TAGGED = {
  etag: 'Digest of the rows, in quotes.',
  'espalier-rewards-at': 'Position of the rewards in the rows, which `ack` takes as `rewardsAt`.',
};
const IN_FLIGHT = 32; // requests; more come back
const LANES = 2; // batches read at once: each is held whole, some 13 bytes a token

const NONE_PLANNED = {
  error: {
    code: 'none-planned',
    message: 'no batch is planned behind the leased one',
    remedy: 'acknowledge the leased batch, and lease the next one',
  },
};

/** The rows of a leased batch, for the holder of a lease that is not over. */
export function rowsEndpoint({ db, packed, asking }: TrainingWorld): Endpoint {
  const gate = createGate(IN_FLIGHT);
  const inLane = limitOf(LANES);
  return endpoint({
    method: 'GET',
    path: '/v1/training/leases/{id}/rows',
    needs: NEEDS,
    summary: 'The rows of a leased batch as safetensors.',
    params: leaseId,
    query: z.object({
      layout: z
        .string()
        .default('step')
        .meta({ enum: LAYOUTS, description: 'A row per step, or per trajectory as verl has them.' }),
      advantages: z
        .enum(['with', 'without'])
        .default('without')
        .describe(
          '`with`: columns `advantages` and `returns`, by the estimator of the batch; the metadata says why there are none.',
        ),
      batch: z
        .enum(['leased', 'next'])
        .default('leased')
        .describe('`next`: the batch that is planned behind the leased one, whose rows a trainer reads ahead.'),
    }),
    headers: z.looseObject({ 'if-none-match': z.string().optional().describe('The tag of rows that the client has.') }),
    answers: {
      200: {
        description: 'The rows.',
        content: { [SAFETENSORS]: { type: 'string', contentMediaType: SAFETENSORS } },
        headers: TAGGED,
      },
      304: { description: 'The client has them.', headers: { etag: TAGGED.etag } },
      ...refusals({
        400: 'The layout is unknown.',
        404: 'No such lease was ever given, or no batch is planned behind it (`none-planned`).',
        409: 'The lease is over (`stale-fence`).',
        410: 'No reader gets these rows (`unreadable`): abandon the batch.',
        422: 'The record does not have what the layout needs (`layout`).',
        500: 'A blob is missing or damaged (`blob`).',
        503: 'The projections are behind the plan of the batch, or too many batches are being read: ask again after Retry-After seconds.',
      }),
    },
    async handle({ req, params, query }) {
      const layout = LAYOUTS.find((known) => known === query.layout);
      if (layout === undefined)
        return refuse(400, `layout is none of ${LAYOUTS.join(', ')}`, 'ask for ?layout=step or ?layout=verl');
      asking.touch();
      const lease = await findStatedLease(db, params.id);
      if (lease.kind === 'refused') return decided(lease);
      const wanted = { layout, advantages: query.advantages };
      asking.note(lease.policyId, wanted);
      const batch = query.batch === 'leased' ? lease : await findBatchBehind(db, params.id);
      if (batch === undefined) return json(404, NONE_PLANNED);
      const reply = () => rowsReply({ db, packed }, batch, wanted, req);
      if (packed.holds(batch.batchId, wanted, batch.state)) return reply(); // nothing is read for it
      const leave = gate();
      if (!leave) return refuse(503, 'too many batches are being read', 'ask again', { headers: { 'retry-after': '1' } });
      try {
        return await inLane(reply);
      } finally {
        leave();
      }
    },
  });
}

async function rowsReply(
  { db, packed }: { readonly db: Db; readonly packed: PackedRows },
  { batchId, state }: StatedBatch,
  { layout, advantages }: RowFormat,
  req: IncomingMessage,
): Promise<Reply> {
  try {
    const encoded = await packed.get(batchId, layout, advantages, state);
    if (encoded.kind === 'refused')
      return json(422, { error: { code: 'layout', message: encoded.message, remedy: encoded.remedy } });
    const headers = { 'content-type': SAFETENSORS, etag: `"${encoded.digest}"` };
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
      { error: { code, message, remedy: 'ask again; GET /v1/health says how far the projections are' } },
      { 'retry-after': '1' },
    );
  return json(500, { error: { code, message, remedy: 'give the batch back (nack) until the record is repaired' } });
}
