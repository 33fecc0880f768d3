import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { listOf } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';

/** A version of a policy and what it was made of: a node of the lineage graph. */
export type PolicyUpdateRecord = Selectable<Tables['policyVersions']>;

export interface PolicyUpdateFilter {
  readonly policyId: string;
}

export const POLICY_UPDATE_ORDERING: Ordering = {
  name: 'policy-updates/VERSION_DESC',
  direction: 'desc',
  keys: [{ column: 'policyVersions.version', type: 'integer' }],
};

/** The pages of versions, the newest first, and their counts. */
export const { pages: readPolicyUpdatePages, counts: countPolicyUpdates } = listOf(
  (db, { policyId }: PolicyUpdateFilter) =>
    db.selectFrom('policyVersions').where('policyVersions.policyId', '=', policyId).selectAll('policyVersions'),
  (row): PolicyUpdateRecord => row,
);

/** Reads versions by policy and version, in one statement, in no order; those that are not there are left out. */
export async function readPolicyUpdates(
  db: Db,
  wanted: readonly { readonly policyId: string; readonly version: number }[],
): Promise<readonly PolicyUpdateRecord[]> {
  const policies = wanted.map(({ policyId }) => policyId);
  const versions = wanted.map(({ version }) => version);
  return db
    .selectFrom('policyVersions')
    .selectAll()
    .where(sql<boolean>`(policy_id, version) in (select * from unnest(${policies}::text[], ${versions}::int[]))`)
    .execute();
}

/** Reads the versions that batches made, in one statement, in no order. */
export async function readUpdatesOfBatches(db: Db, batches: readonly string[]): Promise<readonly PolicyUpdateRecord[]> {
  return wholeRowsWhere(db, 'policyVersions', { batchId: batches });
}

/** Reads the newest version of a policy; undefined before its first. */
export async function readNewestUpdate(db: Db, policyId: string): Promise<PolicyUpdateRecord | undefined> {
  return db
    .selectFrom('policyVersions')
    .selectAll()
    .where('policyId', '=', policyId)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
}
