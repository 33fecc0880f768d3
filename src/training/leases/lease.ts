import { type RawBuilder, sql } from 'kysely';
import { isUuid } from '../../domain/ids.ts';
import type { Db } from '../../postgres/database.ts';
import { type RewardStateRow, rewardStateOf, wholeRewardState } from '../rows/reward-state.ts';
import { checkName, checkTtl, invalid, staleBase, staleFence, unknownLease, unknownPolicy } from './check-request.ts';
import { type Decision, decide } from './decide.ts';
import { openServiceRow } from './ensure-synced-with-log.ts';
import { expired, type LeaseNames, leased, leaseIdOf, returned } from './lease-events.ts';
import { lineageIdOf } from './lineage-of.ts';
import type { Leased, LeaseRequest, LeaseServiceOptions, Nothing, PlannedBatch, Refused } from './protocol.ts';
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
function endOf(row: LeaseOfRow, names: LeaseNames, now: Date) {
  return row.deadline <= now ? expired(names) : returned(names, 'asked for again by its own consumer, which was restarted');
}

interface CurrentLease {
  readonly kind: 'current';
  readonly batchId: string;
}

/** A batch, and the state of its rewards as `readRewardState` returns it. */
export interface StatedBatch {
  readonly batchId: string;
  readonly policyId: string;
  readonly state: string;
}

/** Finds the batch of a lease that holds now, without taking a lock: who reads rows decides nothing. */
export async function findCurrentLease(db: Db, leaseId: string): Promise<CurrentLease | Refused> {
  const found = await find<object>(db, leaseId, sql``);
  return found.kind === 'refused' ? found : { kind: 'current', batchId: found.batchId };
}

/** Finds the same with the state of its rewards, in one statement. */
export async function findStatedLease(db: Db, leaseId: string): Promise<(CurrentLease & StatedBatch) | Refused> {
  const found = await find<Pick<StatedBatch, 'policyId'> & RewardStateRow>(
    db,
    leaseId,
    sql`, d.policy_id, ${rewardStateOf(sql`g.batch_id`)}`,
  );
  if (found.kind === 'refused') return found;
  const { batchId, policyId } = found;
  return { kind: 'current', batchId, policyId, state: await wholeRewardState(db, batchId, found) };
}

async function find<Besides>(
  db: Db,
  leaseId: string,
  besides: RawBuilder<unknown>,
): Promise<({ readonly kind: 'row'; readonly batchId: string } & Besides) | Refused> {
  if (!isUuid(leaseId)) return invalid('leaseId', 'must be a UUID in lower case');
  const { rows } = await sql<{ batchId: string; current: boolean } & Besides>`
    select g.batch_id, coalesce(d.lease_id = g.lease_id and d.deadline > clock_timestamp(), false) as current${besides}
    from lease_grants g join lease_desk d on d.lineage_id = g.lineage_id where g.lease_id = ${leaseId}::uuid`.execute(db);
  const [row] = rows;
  if (!row) return unknownLease(leaseId);
  return row.current ? { ...row, kind: 'row' } : staleFence(`lease ${leaseId} is over`);
}

/** Finds the batch that is planned behind that of a lease. */
export async function findBatchBehind(db: Db, leaseId: string): Promise<StatedBatch | undefined> {
  const { rows } = await sql<Pick<StatedBatch, 'batchId' | 'policyId'> & RewardStateRow>`
    select b.batch_id, b.policy_id, ${rewardStateOf(sql`b.batch_id`)}
    from lease_grants g join batches b on b.lineage_id = g.lineage_id and b.ordinal = g.ordinal + 1
    where g.lease_id = ${leaseId}::uuid`.execute(db);
  const [row] = rows;
  return row && { batchId: row.batchId, policyId: row.policyId, state: await wholeRewardState(db, row.batchId, row) };
}
