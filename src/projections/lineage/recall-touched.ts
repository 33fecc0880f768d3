import { sql } from 'kysely';
import { parsePosition } from '../../log/position.ts';
import type { Db } from '../../postgres/database.ts';
import type { Judged, RecallSeed, Touched, TouchedBatch, TouchedDataset, TouchedEvaluation, TouchedVersion } from './touched.ts';
import { pairsTouched, readTouchedRollouts, type TouchedRollouts } from './touched-rollouts.ts';

/**
 * Follows rollouts forward to what was made of them: releases by the sources of their lines, batches by their samples, policy
 * versions by their batches and datasets and from there to all versions trained from those, evaluations by their policy or their
 * episodes. Where the record cannot show it (a release or a trained policy that names only runs), it counts as touched: a recall
 * that forgets one is worse than one that looks twice. One snapshot that only reads: the read models of a moment, and a standby
 * server, take no temporary table, so sets go from one statement to the next.
 */
export async function readTouched(db: Db, seed: RecallSeed): Promise<Touched> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const touched = await readTouchedRollouts(trx, seed.kind === 'rollouts' ? seed : null);
      const datasets = await readDatasets(trx, seed, touched);
      const batches = await readBatches(trx, seed, touched);
      const versions = await readVersions(trx, seed, touched, datasets, batches);
      const evaluations = await readEvaluations(trx, touched, versions);
      const { runs, trees, rollouts } = touched;
      return { runs, trees, rollouts, datasets, batches, versions, evaluations };
    });
}

async function readDatasets(db: Db, seed: RecallSeed, rollouts: TouchedRollouts): Promise<TouchedDataset[]> {
  const { treeIds, runs } = rollouts;
  const pairs = pairsTouched(rollouts);
  const touched =
    seed.kind === 'dataset'
      ? sql`
        select dataset_id, (select count(*) from dataset_examples e where e.dataset_id = d.dataset_id)::integer as examples
        from datasets d where d.dataset_id = ${seed.datasetId}`
      : sql`
        select e.dataset_id, count(*)::integer as examples from dataset_examples e
        where e.tree_id = any(${treeIds}::uuid[])
          and ((e.good_rollout_id, e.tree_id) in (${pairs}) or (e.bad_rollout_id, e.tree_id) in (${pairs}))
        group by e.dataset_id
        union all
        select d.dataset_id, null from datasets d
        where d.runs && ${[...runs]}::uuid[] and not exists (select from dataset_examples e where e.dataset_id = d.dataset_id)`;
  const { rows } = await sql<TouchedDataset>`
    select d.dataset_id, d.name, d.version, t.examples, d.withdrawn_at is not null as withdrawn
    from datasets d join (${touched}) t on t.dataset_id = d.dataset_id order by d.name, d.version`.execute(db);
  return rows;
}

async function readBatches(db: Db, seed: RecallSeed, rollouts: TouchedRollouts): Promise<TouchedBatch[]> {
  const touched =
    seed.kind === 'batch'
      ? sql`select batch_id, samples from batches where batch_id = ${seed.batchId}`
      : sql`
        select batch_id, count(*)::integer as samples from batch_samples
        where (rollout_id, tree_id) in (${pairsTouched(rollouts)}) group by batch_id`;
  const { rows } = await sql<TouchedBatch>`
    select b.batch_id, b.policy_id, b.ordinal, t.samples,
           exists (select from batch_acks a where a.batch_id = b.batch_id) as trained
    from batches b join (${touched}) t on t.batch_id = b.batch_id order by b.policy_id, b.ordinal`.execute(db);
  return seed.kind === 'rollouts' && seed.judged ? excludeTrainedEarlier(db, seed.judged, rollouts, rows) : rows;
}

/** Reads the versions that were trained on what is touched, and all that were trained from those. */
async function readVersions(
  db: Db,
  seed: RecallSeed,
  { runs }: TouchedRollouts,
  datasets: readonly TouchedDataset[],
  batches: readonly TouchedBatch[],
): Promise<TouchedVersion[]> {
  const itself =
    seed.kind === 'version'
      ? sql`select ${seed.policyId}::text as policy_id, ${seed.version}::integer as version`
      : sql`select null::text as policy_id, null::integer as version where false`;
  const { rows } = await sql<TouchedVersion>`
    with recursive itself as (${itself}), trained_on as (
      select policy_id, version from policy_versions where batch_id = any(${batches.map(({ batchId }) => batchId)}::uuid[])
      union
      select policy_id, policy_version from evaluations
      where trained -> 'datasetIds' ?| ${datasets.map(({ datasetId }) => datasetId)}::text[]
         or (coalesce(jsonb_array_length(trained -> 'datasetIds'), 0) = 0 and trained -> 'runIds' ?| ${[...runs]}::text[])
    ), below as (
      select * from itself
      union
      select * from trained_on
      union
      select v.policy_id, v.version from below b join policy_versions v on v.policy_id = b.policy_id and v.parent_version = b.version
    )
    select policy_id, version,
           case when exists (select from itself i where (i.policy_id, i.version) = (b.policy_id, b.version)) then 'itself'
                when exists (select from trained_on t where (t.policy_id, t.version) = (b.policy_id, b.version)) then 'trained-on'
                else 'descends' end as how
    from below b order by policy_id, version`.execute(db);
  return rows;
}

async function readEvaluations(
  db: Db,
  { runs }: TouchedRollouts,
  versions: readonly TouchedVersion[],
): Promise<TouchedEvaluation[]> {
  const { rows } = await sql<TouchedEvaluation>`
    select e.run_id, e.policy_id, e.policy_version as version, e.mean_return,
           case when v.version is null then 'counts' else 'measures' end as how
    from evaluations e
    left join unnest(${versions.map(({ policyId }) => policyId)}::text[], ${versions.map(({ version }) => version)}::integer[])
      as v(policy_id, version) on v.policy_id = e.policy_id and v.version = e.policy_version
    where v.version is not null or e.run_id = any(${[...runs]}::uuid[]) or e.recovered_run_id = any(${[...runs]}::uuid[])
    order by e.policy_id, e.policy_version, e.run_id`.execute(db);
  return rows;
}

/**
 * Leaves out of batches what was trained before the scorer judged: an update records the position of the rewards that it was
 * computed from, and a judgement behind it had no part in it. Judgements count by the tree: the advantages of a group depend on
 * the rewards of all its members. Batches that are not trained, or whose update records no position, stay as they are.
 * @param rollouts that the recall begins with.
 */
async function excludeTrainedEarlier(
  db: Db,
  { name, revision }: Judged,
  rollouts: Pick<TouchedRollouts, 'rolloutIds' | 'ofTrees'>,
  batches: readonly TouchedBatch[],
): Promise<TouchedBatch[]> {
  const ids = batches.map(({ batchId }) => batchId);
  const updates = await sql<{ batchId: string; rewardsAt: string }>`
    select b.batch_id, e.body::jsonb #>> '{data,rewardsAt}' as rewards_at
    from batches b join events e on e.stream = b.lineage_id and e.type = 'PolicyUpdated'
    where b.batch_id = any(${ids}::uuid[]) and e.body::jsonb #>> '{data,batchId}' = b.batch_id::text
      and e.body::jsonb #>> '{data,rewardsAt}' is not null`.execute(db);
  if (updates.rows.length === 0) return [...batches];
  const rewardsAt = new Map(updates.rows.map(({ batchId, rewardsAt: at }) => [batchId, parsePosition(at)]));
  const judged = await sql<{ batchId: string; samples: number; topic: string; partition: number; first: number }>`
    with samples as (
      select batch_id, tree_id, count(*)::integer as samples from batch_samples
      where (rollout_id, tree_id) in (${pairsTouched(rollouts)}) and batch_id = any(${[...rewardsAt.keys()]}::uuid[])
      group by batch_id, tree_id
    ), first_judgements as (
      select stream, topic, partition, min("offset") as first from events
      where stream in (select tree_id from samples) and type in ('RewardAssigned', 'RewardRevised')
        and body::jsonb #>> '{data,scorer,name}' = ${name}
        and (${revision}::text is null or body::jsonb #>> '{data,scorer,revision}' = ${revision})
      group by stream, topic, partition
    )
    select s.batch_id, s.samples, j.topic, j.partition, j.first
    from samples s join first_judgements j on j.stream = s.tree_id`.execute(db);
  const left = new Map<string, number>();
  for (const { batchId, samples, topic, partition, first } of judged.rows)
    if (first < (rewardsAt.get(batchId)?.get(topic)?.get(partition) ?? 0)) left.set(batchId, (left.get(batchId) ?? 0) + samples);
  return batches.flatMap((batch) => {
    const samples = rewardsAt.has(batch.batchId) ? (left.get(batch.batchId) ?? 0) : batch.samples;
    return samples > 0 ? [{ ...batch, samples }] : [];
  });
}
