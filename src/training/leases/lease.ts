import { checkName, checkTtl, invalid } from './check-request.ts';
import { type Decision, decide } from './decide.ts';
import { expired, type LeaseNames, leased, leaseIdOf, returned } from './lease-events.ts';
import { lineageIdOf } from './lineage-id.ts';
import { openServiceRow } from './open-service-row.ts';
import type { Leased, LeaseRequest, LeaseServiceOptions, Nothing, PlannedBatch, Refused } from './protocol.ts';
import { staleBase, unknownPolicy } from './refusals.ts';
import { type LeaseOfRow, type ReadRow, readService, withLease } from './service-row.ts';

/** Leases the next batch of a policy in one transaction; see `LeaseService.lease`. */
export async function leaseBatch(options: LeaseServiceOptions, request: LeaseRequest): Promise<Leased | Nothing | Refused> {
  const wrong = checkLease(request);
  if (wrong) return wrong;
  const lineageId = lineageIdOf(request.policyId);
  const answer = await decideLease(options, lineageId, request);
  if (answer !== 'no-row') return answer;
  // A policy that the log knows and this database's lease service does not: the database was made again over an older log.
  if (!(await openServiceRow(options, lineageId, request.policyId))) return unknownPolicy(request.policyId);
  const again = await decideLease(options, lineageId, request);
  return again === 'no-row' ? unknownPolicy(request.policyId) : again;
}

function checkLease({ policyId, consumer, ttlMs, baseVersion }: LeaseRequest): Refused | undefined {
  const wrong = checkName('policyId', policyId) ?? checkName('consumer', consumer) ?? checkTtl(ttlMs);
  if (wrong) return wrong;
  if (baseVersion === undefined || (Number.isInteger(baseVersion) && baseVersion >= 0)) return undefined;
  return invalid('baseVersion', 'must be a version, a whole number from 0');
}

function decideLease(
  options: LeaseServiceOptions,
  lineageId: string,
  request: LeaseRequest,
): Promise<Leased | Nothing | Refused | 'no-row'> {
  return decide<Leased | Nothing | Refused | 'no-row'>(
    options,
    (db, producer) => readService(db, lineageId, producer),
    ({ service, now }) => {
      if (!service) return { answer: 'no-row' };
      const { baseVersion } = request;
      const { held, next, head } = service;
      if (baseVersion !== undefined && baseVersion !== head.version) return { answer: staleBase(baseVersion, head) };
      if (held && held.deadline > now && held.consumer !== request.consumer)
        return { answer: { kind: 'nothing', busyUntil: held.deadline, head } };
      if (!next) return { answer: { kind: 'nothing', busyUntil: null, head } };
      return grant(service, next, request, now);
    },
  );
}

function grant(service: ReadRow, batch: PlannedBatch, { consumer, ttlMs }: LeaseRequest, now: Date): Decision<Leased> {
  const { lineageId, policyId, held } = service;
  const { batchId, ordinal } = batch;
  const fence = service.fence + 1;
  const deadline = new Date(now.getTime() + ttlMs);
  const leaseId = leaseIdOf(batchId, fence);
  const names: LeaseNames = { lineageId, policyId, batchId, leaseId, fence };
  const before = held ? [endOf(held, { ...names, leaseId: held.leaseId, batchId: held.batchId, fence: service.fence }, now)] : [];
  return {
    answer: { kind: 'leased', lease: { ...batch, ...names, consumer, deadline, base: service.head } },
    change: {
      after: withLease(service, { leaseId, batchId, consumer, deadline }),
      note: { of: 'grant', row: { lease_id: leaseId, batch_id: batchId, ordinal, fence, consumer } },
      events: [...before, leased(names, consumer, deadline)],
    },
  };
}

/** The lease before this one: its time was over, or its consumer has forgotten it. */
function endOf(held: LeaseOfRow, names: LeaseNames, now: Date) {
  return held.deadline <= now ? expired(names) : returned(names, 'asked for again by its own consumer, which was restarted');
}
