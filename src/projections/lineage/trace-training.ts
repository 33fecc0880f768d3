import { sql } from 'kysely';
import { derivedId } from '../../events/derived-id.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { type Finder, oneStream, readOne, type TracedEntity } from './trace-links.ts';

/** A release of training data. */
export const findDataset: Finder = async (db, id) => {
  const found = await readOne(
    db,
    sql<{ name: string; format: string; sha256: string; withdrawn: string | null }>`
      select name || '@' || version as name, format, sha256, withdraw_reason as withdrawn from datasets where dataset_id = ${id}`,
  );
  if (!found) return null;
  return {
    kind: 'dataset',
    id,
    title: `${found.name}, ${found.format}, SHA-256 ${found.sha256}${found.withdrawn === null ? '' : `, withdrawn: ${found.withdrawn}`}`,
    madeBy: {
      streams: oneStream(id),
      types: ['DatasetReleased', 'DatasetSourced', 'DatasetWithdrawn'],
      field: 'datasetId',
      named: id,
    },
    from: [
      {
        relation: 'runs',
        query: sql`select r.run_id as id, r.name as text from datasets d join runs r on r.run_id = any(d.runs) where d.dataset_id = ${id} order by r.started_at`,
      },
      {
        relation: 'trees of its lines',
        query: sql`select tree_id as id, count(*) || ' examples' as text from dataset_examples where dataset_id = ${id} group by tree_id order by min(line)`,
      },
    ],
    usedBy: [],
    seed: { kind: 'dataset', datasetId: id },
  };
};

/** A batch: what one update consumed. */
export const findBatch: Finder = async (db, id) => {
  const batch = await readOne(
    db,
    sql<{ lineageId: string; name: string; samples: number; manifest: string }>`
      select lineage_id, policy_id || '#' || ordinal as name, samples, manifest_hash as manifest from batches where batch_id = ${id}`,
  );
  if (!batch) return null;
  const types = ['BatchPlanned', 'BatchLeased', 'LeaseExpired', 'BatchReturned', 'BatchAcked', 'BatchAbandoned'];
  return {
    kind: 'batch',
    id,
    title: `${batch.name}, ${batch.samples} samples, manifest ${batch.manifest}`,
    madeBy: { streams: oneStream(batch.lineageId), types, field: 'batchId', named: id },
    from: [
      {
        relation: 'groups',
        query: sql`select tree_id as id, count(*) || ' samples' as text from batch_samples where batch_id = ${id} group by tree_id order by min(place)`,
      },
      {
        relation: 'policy versions that acted',
        query: sql`
          select distinct r.policy_id || '@' || r.policy_version as id, '' as text
          from batch_samples b join rollouts r on r.rollout_id = b.rollout_id and r.tree_id = b.tree_id where b.batch_id = ${id} order by 1`,
      },
    ],
    usedBy: [],
    seed: { kind: 'batch', batchId: id },
  };
};

/**
 * A checkpoint: kept weights; of several under one id first the one that a version of its own lineage names. What is made of it is
 * what its version made.
 */
export const findCheckpoint: Finder = async (db, id) => {
  const kept = await readOne(
    db,
    sql<{ policyId: string; version: number; weights: string }>`
      select policy_id, version, weights from (
        select c.policy_id, c.version, c.weights, case when v.checkpoint_id is null then 1 else 0 end as place
        from checkpoints c left join policy_versions v
          on v.lineage_id = c.lineage_id and v.version = c.version and v.checkpoint_id = c.checkpoint_id
        where c.checkpoint_id = ${id}
        union all select policy_id, version, weights, 2 from policy_versions where checkpoint_id = ${id}) kept
      order by place, policy_id, version limit 1`,
  );
  if (!kept) return null;
  const { policyId, version, weights } = kept;
  return {
    kind: 'checkpoint',
    id,
    title: `of ${policyId}@${version}, weights ${weights}`,
    madeBy: {
      streams: oneStream(derivedId('lineage', policyId)),
      types: ['CheckpointSaved', 'BatchAcked', 'PolicyUpdated'],
      field: 'checkpointId',
      named: id,
    },
    from: [{ relation: 'policy version', query: sql`select ${`${policyId}@${version}`}::text as id, '' as text` }],
    usedBy: [],
    seed: { kind: 'version', policyId, version },
  };
};

/**
 * A version of a policy, `NAME@V`: trained here, or known because it acted or was measured. A dataset is found by `NAME@V` too.
 */
export const findVersion: Finder = async (db, text) => {
  const at = text.lastIndexOf('@');
  const [policyId, version] = [text.slice(0, at), Number(text.slice(at + 1))];
  if (at < 1 || !Number.isSafeInteger(version) || version < 0 || version > 2 ** 31 - 1) return null;
  return (
    (await findTrained(db, text, policyId, version)) ??
    (await findActing(db, text, policyId, version)) ??
    findRelease(db, policyId, version)
  );
};

async function findTrained(db: Db, id: string, policyId: string, version: number): Promise<TracedEntity | null> {
  const columns = ['lineageId', 'weights', 'samples', 'updatedAt'] as const;
  const [trained] = await rowsWhere(db, 'policyVersions', { policyId, version }, columns);
  if (!trained) return null;
  const mine = sql`policy_versions where policy_id = ${policyId} and version = ${version}`;
  return {
    kind: 'policy version',
    id,
    title: `trained on ${trained.samples} samples, ${trained.updatedAt.toISOString()}, weights ${trained.weights}`,
    madeBy: { streams: oneStream(trained.lineageId), types: ['PolicyUpdated'], field: 'version', named: String(version) },
    from: [
      {
        relation: 'version before',
        query: sql`select policy_id || '@' || parent_version as id, '' as text from ${mine} and parent_version is not null`,
      },
      {
        relation: 'batch',
        query: sql`select batch_id as id, samples || ' samples' as text from ${mine} and batch_id is not null`,
      },
      { relation: 'checkpoint', query: sql`select checkpoint_id as id, weights as text from ${mine}` },
    ],
    usedBy: [
      {
        relation: 'versions after',
        query: sql`
          select policy_id || '@' || version as id, '' as text from policy_versions
          where policy_id = ${policyId} and parent_version = ${version} order by version`,
      },
      measuredBy(policyId, version),
      actedIn(policyId, version),
    ],
    seed: { kind: 'version', policyId, version },
  };
}

function measuredBy(policyId: string, version: number) {
  return {
    relation: 'evaluations',
    query: sql`
      select run_id as id, coalesce('mean return ' || round(mean_return::numeric, 3), 'no return') as text from evaluations
      where policy_id = ${policyId} and policy_version = ${version} order by run_id`,
  };
}

function actedIn(policyId: string, version: number) {
  return {
    relation: 'acted in runs',
    query: sql`
      select run_id as id, count(*) || ' rollouts' as text from rollouts
      where policy_id = ${policyId} and policy_version = ${version} group by run_id order by min(started_at)`,
  };
}

async function findActing(db: Db, id: string, policyId: string, version: number): Promise<TracedEntity | null> {
  const seen = await readOne(
    db,
    sql<{ found: boolean }>`
      select exists (select from rollouts where policy_id = ${policyId} and policy_version = ${version})
          or exists (select from evaluations where policy_id = ${policyId} and policy_version = ${version}) as found`,
  );
  if (seen?.found !== true) return null;
  const measured = sql`e.policy_id = ${policyId} and e.policy_version = ${version}`;
  return {
    kind: 'policy version',
    id,
    title: 'not trained from batches of this record',
    madeBy: null,
    from: [
      {
        relation: 'trained on datasets',
        query: sql`
          select distinct d.id, '' as text from evaluations e, jsonb_array_elements_text(coalesce(e.trained -> 'datasetIds', '[]')) d(id)
          where ${measured} order by 1`,
      },
      {
        relation: 'trained on runs',
        query: sql`
          select distinct r.id, '' as text from evaluations e, jsonb_array_elements_text(coalesce(e.trained -> 'runIds', '[]')) r(id)
          where ${measured} order by 1`,
      },
    ],
    usedBy: [measuredBy(policyId, version), actedIn(policyId, version)],
    seed: { kind: 'version', policyId, version },
  };
}

async function findRelease(db: Db, name: string, version: number): Promise<TracedEntity | null> {
  const [release] = await rowsWhere(db, 'datasets', { name, version }, ['datasetId']);
  return release ? findDataset(db, release.datasetId, null) : null;
}
