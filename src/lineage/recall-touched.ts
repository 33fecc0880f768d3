import { type RawBuilder, sql } from 'kysely';
import type { Db, Trx } from '../postgres/database.ts';

/**
 * Where a recall begins: rollouts (a query that gives `rollout_id`), or something that was made of rollouts. `steps` (a query that gives `step_id`) are the steps
 * that are recalled: a run that was forked at one of them, or below, repeats them. Null where a judgement is recalled, which no fork repeats.
 */
export type RecallSeed =
  | { readonly kind: 'rollouts'; readonly rollouts: RawBuilder<unknown>; readonly steps: RawBuilder<unknown> | null }
  | { readonly kind: 'dataset'; readonly datasetId: string }
  | { readonly kind: 'batch'; readonly batchId: string }
  | { readonly kind: 'version'; readonly policyId: string; readonly version: number };

export interface TouchedDataset {
  readonly datasetId: string;
  readonly name: string;
  readonly version: number;
  /** Examples made of touched rollouts; null where the release does not say what its lines were made of, and names a touched run. */
  readonly examples: number | null;
  readonly withdrawn: boolean;
}
export interface TouchedBatch {
  readonly batchId: string;
  readonly policyId: string;
  readonly ordinal: number;
  /** Its samples that are touched. */
  readonly samples: number;
  readonly trained: boolean;
}
export interface TouchedVersion {
  readonly policyId: string;
  readonly version: number;
  /** `itself`: where the recall begins. `trained-on`: a touched batch or dataset. `descends`: trained from a version that is touched. */
  readonly how: 'itself' | 'trained-on' | 'descends';
}
export interface TouchedEvaluation {
  readonly runId: string;
  readonly policyId: string;
  readonly version: number;
  readonly meanReturn: number;
  /** `measures`: a touched version. `counts`: touched rollouts are its episodes, or what its episodes went on from. */
  readonly how: 'measures' | 'counts';
}

/** Everything that was made of something; each list whole, in one order. */
export interface Touched {
  readonly runs: readonly string[];
  readonly trees: number;
  readonly rollouts: number;
  readonly datasets: readonly TouchedDataset[];
  readonly batches: readonly TouchedBatch[];
  readonly versions: readonly TouchedVersion[];
  readonly evaluations: readonly TouchedEvaluation[];
}

/**
 * Follows rollouts forward to what was made of them: releases by the sources of their lines, batches by their samples, policy versions by their
 * batches and datasets and from there to all versions trained from those, evaluations by their policy or their episodes. Where the record cannot tell
 * (a release or a trained policy that names only runs), it counts as touched: a recall that forgets one is worse than one that looks twice. One snapshot.
 */
export async function readTouched(db: Db, seed: RecallSeed): Promise<Touched> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      await plantSeed(trx, seed);
      if (seed.kind === 'rollouts') await spreadFromRollouts(trx);
      await spreadToVersions(trx);
      return collectTouched(trx);
    });
}

async function plantSeed(trx: Trx, seed: RecallSeed): Promise<void> {
  // Of this transaction alone; a set of ids may be large, and four statements ask for it.
  await sql`create temporary table touched_rollouts (rollout_id uuid primary key, tree_id uuid, run_id uuid) on commit drop`.execute(
    trx,
  );
  await sql`create temporary table touched_datasets (dataset_id uuid primary key, examples integer) on commit drop`.execute(trx);
  await sql`create temporary table touched_batches (batch_id uuid primary key, samples integer) on commit drop`.execute(trx);
  await sql`create temporary table touched_versions (policy_id text, version integer, how text, primary key (policy_id, version)) on commit drop`.execute(
    trx,
  );
  switch (seed.kind) {
    case 'rollouts': {
      const ids = seed.steps === null ? seed.rollouts : sql`(${seed.rollouts}) union (${rolloutsForkedFrom(seed.steps)})`;
      await sql`insert into touched_rollouts
        select r.rollout_id, r.tree_id, r.run_id from rollouts r where r.rollout_id in (${ids})`.execute(trx);
      await sql`analyze touched_rollouts`.execute(trx);
      return;
    }
    case 'dataset':
      await sql`insert into touched_datasets
        select dataset_id, (select count(*) from dataset_examples e where e.dataset_id = d.dataset_id)
        from datasets d where dataset_id = ${seed.datasetId}`.execute(trx);
      return;
    case 'batch':
      await sql`insert into touched_batches select batch_id, samples from batches where batch_id = ${seed.batchId}`.execute(trx);
      return;
    case 'version':
      await sql`insert into touched_versions values (${seed.policyId}, ${seed.version}, 'itself')`.execute(trx);
      return;
    default:
      return seed satisfies never;
  }
}

/** Gives the rollouts of runs that were forked at one of these steps or below, of runs forked from any step of those, and so on. */
function rolloutsForkedFrom(steps: RawBuilder<unknown>): RawBuilder<unknown> {
  const stepId = sql`r.config #>> '{fork,stepId}'`; // of any producer's configuration: it may be no id
  return sql`
    with recursive forks as materialized (
      select r.run_id, s.step_id, t.run_id as origin from runs r
      join steps s on s.step_id = case when ${stepId} ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (${stepId})::uuid end
      join trees t on t.tree_id = s.tree_id
      where r.kind = 'fork'
    ), repeated as (
      select run_id, step_id from forks
      union
      select p.run_id, s.parent_step_id from repeated p join steps s on s.step_id = p.step_id where s.parent_step_id is not null
    ), touched as (
      select run_id from repeated where step_id in (select step_id from (${steps}) given(step_id))
      union
      select f.run_id from touched t join forks f on f.origin = t.run_id
    )
    select o.rollout_id from touched t join rollouts o on o.run_id = t.run_id`;
}

async function spreadFromRollouts(trx: Trx): Promise<void> {
  await sql`
    insert into touched_datasets
    select e.dataset_id, count(*) from dataset_examples e
    where e.tree_id in (select tree_id from touched_rollouts)
      and (e.good_rollout_id in (select rollout_id from touched_rollouts) or e.bad_rollout_id in (select rollout_id from touched_rollouts))
    group by e.dataset_id`.execute(trx);
  await sql`
    insert into touched_datasets
    select d.dataset_id, null from datasets d
    where d.runs && array(select distinct run_id from touched_rollouts)
      and not exists (select from dataset_examples e where e.dataset_id = d.dataset_id)`.execute(trx);
  await sql`
    insert into touched_batches
    select b.batch_id, count(*) from batch_samples b join touched_rollouts t on t.rollout_id = b.rollout_id group by b.batch_id`.execute(
    trx,
  );
}

async function spreadToVersions(trx: Trx): Promise<void> {
  await sql`
    insert into touched_versions
    select v.policy_id, v.version, 'trained-on' from policy_versions v join touched_batches b on b.batch_id = v.batch_id
    union
    select e.policy_id, e.policy_version, 'trained-on' from evaluations e
    where exists (select from touched_datasets d where e.trained -> 'datasetIds' ? d.dataset_id::text)
       or (coalesce(jsonb_array_length(e.trained -> 'datasetIds'), 0) = 0
           and exists (select from touched_rollouts r where e.trained -> 'runIds' ? r.run_id::text))
    on conflict do nothing`.execute(trx);
  await sql`
    insert into touched_versions
    with recursive below as (
      select policy_id, version from touched_versions
      union
      select v.policy_id, v.version from below b join policy_versions v on v.policy_id = b.policy_id and v.parent_version = b.version
    )
    select policy_id, version, 'descends' from below on conflict do nothing`.execute(trx);
}

async function collectTouched(trx: Trx): Promise<Touched> {
  const { rows: runs } = await sql<{ id: string }>`select distinct run_id as id from touched_rollouts order by 1`.execute(trx);
  const counted = await sql<{ rollouts: number; trees: number }>`
    select count(*)::integer as rollouts, count(distinct tree_id)::integer as trees from touched_rollouts`.execute(trx);
  const { rows: datasets } = await sql<TouchedDataset>`
    select d.dataset_id as "datasetId", d.name, d.version, t.examples, d.withdrawn_at is not null as withdrawn
    from datasets d join touched_datasets t on t.dataset_id = d.dataset_id order by d.name, d.version`.execute(trx);
  const { rows: batches } = await sql<TouchedBatch>`
    select b.batch_id as "batchId", b.policy_id as "policyId", b.ordinal, t.samples,
           exists (select from batch_acks a where a.batch_id = b.batch_id) as trained
    from batches b join touched_batches t on t.batch_id = b.batch_id order by b.policy_id, b.ordinal`.execute(trx);
  const { rows: versions } = await sql<TouchedVersion>`
    select policy_id as "policyId", version, how from touched_versions order by policy_id, version`.execute(trx);
  const { rows: evaluations } = await sql<TouchedEvaluation>`
    select e.run_id as "runId", e.policy_id as "policyId", e.policy_version as version, e.mean_return as "meanReturn",
           case when v.version is null then 'counts' else 'measures' end as how
    from evaluations e left join touched_versions v on v.policy_id = e.policy_id and v.version = e.policy_version
    where v.version is not null or e.run_id in (select run_id from touched_rollouts)
       or e.recovered_run_id in (select run_id from touched_rollouts)
    order by e.policy_id, e.policy_version, e.run_id`.execute(trx);
  const { rollouts = 0, trees = 0 } = counted.rows[0] ?? {};
  return { runs: runs.map(({ id }) => id), trees, rollouts, datasets, batches, versions, evaluations };
}
