import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { listOf } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';
import type { LeaseEnd } from './training-rows.ts';

export type BatchState = 'planned' | 'leased' | 'trained' | 'abandoned';

/** A batch as it was planned, and its state. */
export interface BatchRecord extends Omit<Selectable<Tables['batches']>, 'batchId' | 'lineageId'> {
  readonly id: string;
  readonly state: BatchState;
}

export interface BatchFilter {
  readonly policyId: string;
  readonly state?: BatchState;
}

export const BATCH_ORDERING: Ordering = {
  name: 'batches/ORDINAL_DESC',
  direction: 'desc',
  keys: [{ column: 'batches.ordinal', type: 'integer' }],
};

/** The pages of batches, and their counts. */
export const { pages: readBatchPages, counts: countBatches } = listOf(
  (db, filter: BatchFilter) => chosen(db, filter).selectAll('batches').select(STATE.as('state')),
  toBatch,
);

/** Reads batches by id, in one statement, in no order; those that are not there are left out. */
export async function readBatchesById(db: Db, ids: readonly string[]): Promise<readonly BatchRecord[]> {
  const rows = await db
    .selectFrom('batches')
    .selectAll('batches')
    .select(STATE.as('state'))
    .where(sql<boolean>`batches.batch_id = any(${[...ids]}::uuid[])`)
    .execute();
  return rows.map(toBatch);
}

/** Why a batch is never trained. */
export interface AbandonmentRecord {
  readonly batchId: string;
  readonly by: 'trainer' | 'operator';
  readonly reason: string;
  readonly abandonedAt: Date;
}

/** Reads how batches were abandoned, in one statement, in no order; the others are left out. */
export async function readAbandonments(db: Db, batches: readonly string[]): Promise<readonly AbandonmentRecord[]> {
  const columns = ['batchId', 'abandonedBy as by', 'reason', 'abandonedAt'] as const;
  return rowsWhere(db, 'batchAbandonments', { batchId: batches }, columns);
}

/** A lease of a batch, ended or not. */
export interface LeaseRecord {
  readonly batchId: string;
  readonly id: string;
  readonly fence: number;
  readonly consumer: string;
  readonly deadline: Date;
  readonly leasedAt: Date;
  readonly endedAt: Date | null;
  readonly endedBy: LeaseEnd | null;
  readonly endReason: string | null;
}

/** Reads the leases of batches, the first one first, in one statement. */
export async function readLeasesOfBatches(db: Db, batches: readonly string[]): Promise<readonly LeaseRecord[]> {
  const { rows } = await sql<LeaseRecord>`
    select batch_id, lease_id as id, fence, consumer, deadline, leased_at, ended_at,
           ended_by, end_reason
    from leases where batch_id = any(${[...batches]}::uuid[]) and leased_at is not null order by batch_id, fence`.execute(db);
  return rows;
}

/** The state of a row of `batches`. */
export const STATE = sql<BatchState>`case
  when exists (select from batch_acks a where a.batch_id = batches.batch_id) then 'trained'
  when exists (select from batch_abandonments x where x.batch_id = batches.batch_id) then 'abandoned'
  when exists (select from leases l where l.batch_id = batches.batch_id and l.leased_at is not null and l.ended_at is null) then 'leased'
  else 'planned' end`;

/** Returns the condition that a row of `batches` is in a state. */
export function batchInState(state: BatchState) {
  return sql<boolean>`${STATE} = ${state}`;
}

function chosen(db: Db, { policyId, state }: BatchFilter) {
  const query = db.selectFrom('batches').where('batches.policyId', '=', policyId);
  return state === undefined ? query : query.where(batchInState(state));
}

function toBatch({ batchId, lineageId: _, ...row }: Selectable<Tables['batches']> & { readonly state: BatchState }): BatchRecord {
  return { id: batchId, ...row };
}
