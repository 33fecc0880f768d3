import { type Selectable, sql } from 'kysely';
import type { Method } from '../../events/schemas/training.ts';
import type { Db } from '../../postgres/database.ts';
import { countEach, mapPages, type Page, type PageRequest, readPages } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import type { Tables } from '../../postgres/tables.ts';

/** A version of a policy and what it was made of: a node of the lineage graph. */
export interface PolicyUpdateRecord {
  readonly policyId: string;
  readonly version: number;
  readonly parentVersion: number | null;
  readonly batchId: string | null;
  readonly checkpointId: string;
  readonly weights: string;
  readonly estimator: Method | null;
  readonly loss: Method | null;
  readonly samples: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly updatedAt: Date;
}

export interface PolicyUpdateFilter {
  readonly policyId: string;
}

export const POLICY_UPDATE_ORDERING: Ordering = {
  name: 'policy-updates/VERSION_DESC',
  direction: 'desc',
  keys: [{ column: 'policyVersions.version', type: 'integer' }],
};

/** Reads one page of versions for each policy, the newest first, in one statement. @throws InvalidCursor. */
export async function readPolicyUpdatePages(
  db: Db,
  filters: readonly PolicyUpdateFilter[],
  page: PageRequest,
): Promise<readonly Page<PolicyUpdateRecord>[]> {
  const queries = filters.map((filter) => chosen(db, filter).selectAll('policyVersions'));
  return mapPages(await readPages(db, queries, POLICY_UPDATE_ORDERING, page), toRecord);
}

/** Counts the versions of each policy, in one statement. */
export async function countPolicyUpdates(db: Db, filters: readonly PolicyUpdateFilter[]): Promise<readonly number[]> {
  const queries = filters.map((filter) => chosen(db, filter));
  return countEach(db, queries);
}

/** Reads versions by policy and version, in one statement, in no order; those that are not there are left out. */
export async function readPolicyUpdates(
  db: Db,
  wanted: readonly { readonly policyId: string; readonly version: number }[],
): Promise<readonly PolicyUpdateRecord[]> {
  const policies = wanted.map(({ policyId }) => policyId);
  const versions = wanted.map(({ version }) => version);
  const rows = await db
    .selectFrom('policyVersions')
    .selectAll()
    .where(sql<boolean>`(policy_id, version) in (select * from unnest(${policies}::text[], ${versions}::int[]))`)
    .execute();
  return rows.map(toRecord);
}

/** Reads the versions that batches made, in one statement, in no order. */
export async function readUpdatesOfBatches(db: Db, batches: readonly string[]): Promise<readonly PolicyUpdateRecord[]> {
  const rows = await db
    .selectFrom('policyVersions')
    .selectAll()
    .where(sql<boolean>`batch_id = any(${[...batches]}::uuid[])`)
    .execute();
  return rows.map(toRecord);
}

/** Reads the newest version of a policy; undefined before its first. */
export async function readNewestUpdate(db: Db, policyId: string): Promise<PolicyUpdateRecord | undefined> {
  const row = await db
    .selectFrom('policyVersions')
    .selectAll()
    .where('policyId', '=', policyId)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toRecord(row);
}

function chosen(db: Db, { policyId }: PolicyUpdateFilter) {
  return db.selectFrom('policyVersions').where('policyVersions.policyId', '=', policyId);
}

function toRecord(row: Selectable<Tables['policyVersions']>): PolicyUpdateRecord {
  return {
    policyId: row.policyId,
    version: row.version,
    parentVersion: row.parentVersion,
    batchId: row.batchId,
    checkpointId: row.checkpointId,
    weights: row.weights,
    estimator: row.estimator,
    loss: row.loss,
    samples: row.samples,
    metrics: row.metrics,
    updatedAt: row.updatedAt,
  };
}
