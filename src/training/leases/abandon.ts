import { isUuid } from '../../domain/ids.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { checkHolding, invalid, refused, unknownBatch } from './check-request.ts';
import { type Decision, decide } from './decide.ts';
import { openServiceRow } from './ensure-synced-with-log.ts';
import { decideOnLease } from './held-lease.ts';
import { abandoned, type LeaseNames } from './lease-events.ts';
import { lineageIdOf } from './lineage-of.ts';
import type { Abandoned, AbandonRequest, Holding, LeaseServiceOptions, Refused } from './protocol.ts';
import { behindBatch, readService, type ServiceRow } from './service-row.ts';

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
  return decideOnLease<Abandoned>(
    options,
    holding,
    ({ grant, service }) => end(service, grant.names.batchId, grant.names, 'trainer', reason),
    (grant) => abandonedBefore(options.db, grant.names.batchId),
  );
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
  return decide<Abandoned | Refused>(
    options,
    (db, producer) => readService(db, lineageId, producer),
    async ({ service }) => {
      if (!service) throw new Error(`the row of policy ${batch.policyId} is gone`); // it was opened above and is never removed
      const before = await abandonedBefore(options.db, batchId);
      if (before) return { answer: before };
      if (batch.ordinal !== service.nextOrdinal) return { answer: notNext(batch, service.nextOrdinal) };
      const { held, fence, policyId } = service;
      const lease = held && { lineageId, policyId, batchId, leaseId: held.leaseId, fence };
      return end(service, batchId, lease, 'operator', reason);
    },
  );
}

function notNext({ policyId, ordinal }: { readonly policyId: string; readonly ordinal: number }, next: number): Refused {
  if (ordinal < next)
    return refused(
      'already-acked',
      `batch ${ordinal} of ${policyId} was trained`,
      'nothing is to be done; `espalier recall` says what was made of it',
    );
  return refused(
    'not-next',
    `batch ${ordinal} of ${policyId} is not the next one: batch ${next} comes before it`,
    `train or abandon batch ${next} first; one that nobody can train is abandoned when its turn comes`,
  );
}

/** @param lease that ends with the batch. */
function end(
  service: ServiceRow,
  batchId: string,
  lease: LeaseNames | null,
  by: 'trainer' | 'operator',
  reason: string,
): Decision<Abandoned> {
  const { lineageId, policyId, nextOrdinal: ordinal } = service;
  return {
    answer: { kind: 'abandoned', batchId, ordinal },
    change: {
      after: behindBatch(service),
      note: { of: 'abandonment', row: { batch_id: batchId, ordinal } },
      events: [abandoned({ lineageId, policyId, batchId, ordinal }, lease, by, reason)],
    },
  };
}

/** What was answered when the batch was abandoned, if it was. */
async function abandonedBefore(db: Db, batchId: string): Promise<Abandoned | undefined> {
  const rows = await rowsWhere(db, 'leaseAbandonments', { batchId }, ['ordinal']);
  return rows[0] && { kind: 'abandoned', batchId, ordinal: rows[0].ordinal };
}
