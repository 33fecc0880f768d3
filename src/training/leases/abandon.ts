import { sql } from 'kysely';
import { isUuid } from '../../domain/ids.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { writeOutbox } from '../outbox/write-outbox.ts';
import { checkHolding, invalid } from './check-request.ts';
import { endExpired } from './expire.ts';
import { lockLease } from './held-lease.ts';
import { inServiceTransaction } from './in-service-transaction.ts';
import { abandoned, type LeaseNames } from './lease-events.ts';
import { lineageIdOf } from './lineage-id.ts';
import { openServiceRow } from './open-service-row.ts';
import type { Abandoned, AbandonRequest, Holding, LeaseServiceOptions, Refused } from './protocol.ts';
import { refused, unknownBatch } from './refusals.ts';
import { lockService, type ServiceRow } from './service-row.ts';

const REASON_LIMIT = 10_000;

/**
 * Abandons the next batch of a policy in one transaction: it is never trained, its lease is over, and the batch behind it is
 * leased on the same base. Asked again it returns the same answer, and appends nothing.
 */
export async function abandonBatch(options: LeaseServiceOptions, request: AbandonRequest): Promise<Abandoned | Refused> {
  const { reason } = request;
  if (reason.trim() === '' || reason.length > REASON_LIMIT)
    return invalid('reason', `must say in 1 to ${REASON_LIMIT} characters why the batch cannot be trained`);
  return 'leaseId' in request ? abandonLeased(options, request, reason) : abandonPlanned(options, request.batchId, reason);
}

/** By the trainer that holds the batch. */
async function abandonLeased(options: LeaseServiceOptions, holding: Holding, reason: string): Promise<Abandoned | Refused> {
  const wrong = checkHolding(holding);
  if (wrong) return wrong;
  return inServiceTransaction(options, async (trx) => {
    const found = await lockLease(trx, holding);
    if (found.kind === 'refused') return found;
    const { grant, service, now } = found;
    if (found.kind === 'over') {
      if (found.ranOut) await endExpired(trx, options, service, now);
      return (await abandonedBefore(trx, grant.names.batchId)) ?? found.refusal;
    }
    return end(trx, options, { service, batchId: grant.names.batchId, lease: grant.names, by: 'trainer', reason, now });
  });
}

/** By an operator, whoever has it. */
async function abandonPlanned(options: LeaseServiceOptions, batchId: string, reason: string): Promise<Abandoned | Refused> {
  if (!isUuid(batchId)) return invalid('batchId', 'must be a UUID in lower case');
  await options.caughtUp?.(); // a batch that was planned a moment ago is known
  const rows = await rowsWhere(options.db, 'batches', { batchId }, ['policyId', 'ordinal']);
  const [batch] = rows;
  if (!batch) return unknownBatch(batchId);
  const lineageId = lineageIdOf(batch.policyId);
  if (!(await openServiceRow(options, lineageId, batch.policyId))) return unknownBatch(batchId);
  return inServiceTransaction(options, async (trx) => {
    const service = await lockService(trx, lineageId);
    if (!service) throw new Error(`the row of policy ${batch.policyId} is gone`); // it was opened above and is never removed
    const before = await abandonedBefore(trx, batchId);
    if (before) return before;
    if (batch.ordinal < service.nextOrdinal)
      return refused(
        'already-acked',
        `batch ${batch.ordinal} of ${batch.policyId} was trained`,
        'nothing is to be done; `espalier recall` says what was made of it',
      );
    if (batch.ordinal > service.nextOrdinal)
      return refused(
        'not-next',
        `batch ${batch.ordinal} of ${batch.policyId} is not the next one: batch ${service.nextOrdinal} comes before it`,
        `train or abandon batch ${service.nextOrdinal} first; one that nobody can train is abandoned when its turn comes`,
      );
    const { held, fence, policyId, now } = service;
    const lease = held && { lineageId, policyId, batchId, leaseId: held.leaseId, fence };
    return end(trx, options, { service, batchId, lease, by: 'operator', reason, now });
  });
}

interface Ending {
  readonly service: ServiceRow;
  readonly batchId: string;
  /** The lease that ends with it. */
  readonly lease: LeaseNames | null;
  readonly by: 'trainer' | 'operator';
  readonly reason: string;
  readonly now: Date;
}

async function end(
  trx: Trx,
  options: LeaseServiceOptions,
  { service, batchId, lease, by, reason, now }: Ending,
): Promise<Abandoned> {
  const { lineageId, policyId, nextOrdinal: ordinal } = service;
  await sql`
    with noted as (
      insert into lease_abandonments (batch_id, lineage_id, ordinal) values (${batchId}::uuid, ${lineageId}::uuid, ${ordinal}))
    update lease_desk set next_ordinal = next_ordinal + 1, fence = 0, lease_id = null, batch_id = null, consumer = null, deadline = null
    where lineage_id = ${lineageId}::uuid`.execute(trx);
  await writeOutbox(trx, [abandoned({ lineageId, policyId, batchId, ordinal }, lease, by, reason)], now, options);
  return { kind: 'abandoned', batchId, ordinal };
}

/** What was answered when the batch was abandoned, if it was. */
export async function abandonedBefore(trx: Trx, batchId: string): Promise<Abandoned | undefined> {
  const rows = await rowsWhere(trx, 'leaseAbandonments', { batchId }, ['ordinal']);
  return rows[0] && { kind: 'abandoned', batchId, ordinal: rows[0].ordinal };
}
