import { sql } from 'kysely';
import type { Method } from '../../events/schemas/training.ts';
import type { Db } from '../../postgres/database.ts';

/** A policy that is trained: how, and its newest version. */
export interface LineageRecord {
  readonly lineageId: string;
  readonly policyId: string;
  readonly estimator: Method;
  /** As `TrainingDeclared` says them; parse before use (`planRules`). */
  readonly rules: unknown;
  readonly seed: number;
  readonly trainer: unknown;
  readonly declaredAt: Date;
  /** The newest version; null before the first. */
  readonly newestVersion: number | null;
  /** Batches that were planned, of them those that produced a version, and those that were abandoned. */
  readonly planned: number;
  readonly trained: number;
  readonly abandoned: number;
  /** The manifest of the last batch. */
  readonly lastManifest: string | null;
}

/**
 * Reads the declared lineages, or those of the policies named, by policy, in one statement. The newest version and how many
 * batches were trained are counted from one fact, `PolicyUpdated`: a slice may end between a `BatchAcked` and the version that it
 * made.
 */
export async function readLineages(db: Db, policies: readonly string[] | 'all'): Promise<readonly LineageRecord[]> {
  const named = policies === 'all' ? sql`true` : sql`l.policy_id = any(${[...policies]}::text[])`;
  const { rows } = await sql<LineageRecord>`
    select l.lineage_id, l.policy_id, l.estimator, l.rules, l.seed, l.trainer, l.declared_at,
           (select max(version) from policy_versions v where v.lineage_id = l.lineage_id) as newest_version,
           coalesce((select max(ordinal) + 1 from batches b where b.lineage_id = l.lineage_id), 0) as planned,
           (select count(*) from policy_versions v where v.lineage_id = l.lineage_id and v.batch_id is not null) as trained,
           (select count(*) from batch_abandonments a where a.lineage_id = l.lineage_id) as abandoned,
           (select manifest_hash from batches b where b.lineage_id = l.lineage_id order by ordinal desc limit 1) as last_manifest
    from lineages l where ${named} order by l.policy_id`.execute(db);
  return rows;
}
