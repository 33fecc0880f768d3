import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import { writeOutbox } from '../outbox/write-outbox.ts';
import { checkName, checkTtl, invalid } from './check-request.ts';
import { inServiceTransaction } from './in-service-transaction.ts';
import { expired, type LeaseNames, leased, leaseIdOf, returned } from './lease-events.ts';
import { lineageIdOf } from './lineage-id.ts';
import { openServiceRow } from './open-service-row.ts';
import type { Leased, LeaseRequest, LeaseServiceOptions, Nothing, PlannedBatch, Refused } from './protocol.ts';
import { staleBase, unknownPolicy } from './refusals.ts';
import { type Held, type LockedRow, lockService } from './service-row.ts';

/** Leases the next batch of a policy in one transaction; see `LeaseService.lease`. */
export async function leaseBatch(options: LeaseServiceOptions, request: LeaseRequest): Promise<Leased | Nothing | Refused> {
  const wrong = checkLease(request);
  if (wrong) return wrong;
  const lineageId = lineageIdOf(request.policyId);
  const answer = await inTransaction(options, lineageId, request);
  if (answer !== 'no-row') return answer;
  // A policy that the log knows and this database's lease service does not: the database was made again over an older log.
  if (!(await openServiceRow(options, lineageId, request.policyId))) return unknownPolicy(request.policyId);
  const again = await inTransaction(options, lineageId, request);
  return again === 'no-row' ? unknownPolicy(request.policyId) : again;
}

function checkLease({ policyId, consumer, ttlMs, baseVersion }: LeaseRequest): Refused | undefined {
  const wrong = checkName('policyId', policyId) ?? checkName('consumer', consumer) ?? checkTtl(ttlMs);
  if (wrong) return wrong;
  if (baseVersion === undefined || (Number.isInteger(baseVersion) && baseVersion >= 0)) return undefined;
  return invalid('baseVersion', 'must be a version, a whole number from 0');
}

async function inTransaction(
  options: LeaseServiceOptions,
  lineageId: string,
  request: LeaseRequest,
): Promise<Leased | Nothing | Refused | 'no-row'> {
  return inServiceTransaction(options, async (trx) => {
    const service = await lockService(trx, lineageId);
    if (!service) return 'no-row';
    const { baseVersion } = request;
    if (baseVersion !== undefined && baseVersion !== service.head.version) return staleBase(baseVersion, service.head);
    const { held, next, now } = service;
    if (held && held.deadline > now && held.consumer !== request.consumer)
      return { kind: 'nothing', busyUntil: held.deadline, head: service.head };
    if (!next) return { kind: 'nothing', busyUntil: null, head: service.head };
    return grant(trx, options, service, next, request);
  });
}

async function grant(
  trx: Trx,
  options: LeaseServiceOptions,
  service: LockedRow,
  batch: PlannedBatch,
  request: LeaseRequest,
): Promise<Leased> {
  const { lineageId, policyId, held, now } = service;
  const { consumer, ttlMs } = request;
  const fence = service.fence + 1;
  const deadline = new Date(now.getTime() + ttlMs);
  const names: LeaseNames = { lineageId, policyId, batchId: batch.batchId, leaseId: leaseIdOf(batch.batchId, fence), fence };
  await sql`
    with noted as (
      insert into lease_grants (lease_id, lineage_id, batch_id, ordinal, fence, consumer)
      values (${names.leaseId}::uuid, ${lineageId}::uuid, ${batch.batchId}::uuid, ${batch.ordinal}, ${fence}, ${consumer}))
    update lease_desk set fence = ${fence}, lease_id = ${names.leaseId}::uuid, batch_id = ${batch.batchId}::uuid, consumer = ${consumer},
      deadline = ${deadline.toISOString()}::timestamptz
    where lineage_id = ${lineageId}::uuid`.execute(trx);
  const before = held ? [endOf(held, { ...names, leaseId: held.leaseId, batchId: held.batchId, fence: service.fence }, now)] : [];
  await writeOutbox(trx, [...before, leased(names, consumer, deadline)], now, options);
  return { kind: 'leased', lease: { ...batch, ...names, consumer, deadline, base: service.head } };
}

/** The lease before this one: its time was over, or its consumer has forgotten it. */
function endOf(held: Held, names: LeaseNames, now: Date) {
  return held.deadline <= now ? expired(names) : returned(names, 'asked for again by its own consumer, which was restarted');
}
