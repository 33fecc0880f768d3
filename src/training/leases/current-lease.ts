import { type RawBuilder, sql } from 'kysely';
import { isUuid } from '../../domain/ids.ts';
import type { Db } from '../../postgres/database.ts';
import { type RewardStateRow, rewardStateOf, wholeRewardState } from '../rows/reward-state.ts';
import { invalid } from './check-request.ts';
import type { Refused } from './protocol.ts';
import { staleFence, unknownLease } from './refusals.ts';

export interface CurrentLease {
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
