import type { Db } from '../../postgres/database.ts';
import type { Head } from '../leases/protocol.ts';

/** Reads the newest version of a policy in the read models and the checkpoint that holds it; null before its first. */
export async function newestHead(db: Db, policyId: string): Promise<Head | null> {
  const head = await heads(db, policyId).orderBy('v.version', 'desc').limit(1).executeTakeFirst();
  return head ?? null;
}

/** Reads a version of a policy and the checkpoint that holds it. @throws NoResultError where the read models have none. */
export async function readHead(db: Db, policyId: string, version: number): Promise<Head> {
  return heads(db, policyId).where('v.version', '=', version).executeTakeFirstOrThrow();
}

/** Reads a version of a policy and the checkpoint that holds it; null where the read models have none. */
export async function findHead(db: Db, policyId: string, version: number): Promise<Head | null> {
  return (await heads(db, policyId).where('v.version', '=', version).executeTakeFirst()) ?? null;
}

function heads(db: Db, policyId: string) {
  return db
    .selectFrom('policyVersions as v')
    .innerJoin('checkpoints as c', 'c.checkpointId', 'v.checkpointId')
    .select(['v.version', 'v.checkpointId as checkpointId', 'v.weights', 'c.backend', 'c.kept'])
    .where('v.policyId', '=', policyId);
}
