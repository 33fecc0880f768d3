import { sql } from 'kysely';
import { DEFAULT_STAMP } from '../../src/events/envelope.ts';
import type { Db } from '../../src/postgres/database.ts';

/** Groups of a batch, and how many batches are not trained yet: the first of them are leased. */
const BATCH = { groups: 32, open: 4, leased: 2 } as const;
const RULES = JSON.stringify({ groupsPerBatch: BATCH.groups });
const ESTIMATOR = JSON.stringify({ name: 'grpo', revision: '1', mode: {} });

/**
 * Fills the training pool as a trainer leaves it: every other run feeds the policy, and its groups are taken in the order
 * in which they were opened. Of twenty groups two are rejected for their returns, one is stale, one loses a member, and
 * the others are trained in batches of whole groups; the last in a hundred wait.
 */
export async function fillTraining(db: Db, { trees, runs }: { readonly trees: number; readonly runs: number }): Promise<void> {
  await sql`
    insert into owners (stream, topic, root, principal, project)
    select run_id, 'runs', null, ${DEFAULT_STAMP.principal}, ${DEFAULT_STAMP.project} from runs
    union all select tree_id, 'trees', run_id, ${DEFAULT_STAMP.principal}, ${DEFAULT_STAMP.project} from trees
    union all select md5('lineage')::uuid, 'training', null, ${DEFAULT_STAMP.principal}, ${DEFAULT_STAMP.project}`.execute(db);
  await sql`
    insert into training_runs (run_id, policy_id, channel, started_at)
    select run_id, 'bench', case when seed % 2 = 0 then 'train' else 'validation' end, started_at from runs`.execute(db);
  await sql`
    insert into groups (tree_id, run_id, task_id, planned_rollouts, opened_at, closed_at, close_reason)
    select tree_id, run_id, task_id, planned_rollouts, opened_at, closed_at, close_reason from trees`.execute(db);
  await sql`
    insert into samples (rollout_id, tree_id, ordinal, policy_id, policy_version, started_at, finished_at, outcome, success, leaf_step_id,
      taken, sampled_tokens, context_tokens, row_tokens, oldest_version, newest_version, policies, scores, scored_at)
    select rollout_id, tree_id, ordinal, policy_id, policy_version, started_at, finished_at, outcome, success, leaf_step_id,
      steps, 300, 900, 5000, policy_version, policy_version, '["bench"]', jsonb_build_object('environment', success::int),
      '{"environment": 1}' from rollouts`.execute(db);
  const taken = sql`(
    select md5('tree' || i)::uuid as tree_id, i / ${runs} % 20 as kind, i from generate_series(0, ${trees} - 1) i
    where i % ${runs} % 2 = 0 and i < ${trees} * 0.99) g`;
  await sql`
    insert into sample_rejections (rollout_id, lineage_id, policy_id, tree_id, reason, rule, measured, rejected_at)
    select s.rollout_id, md5('lineage')::uuid, 'bench', s.tree_id,
      case when g.kind = 3 then 'too-long' when g.kind = 2 then 'stale' else 'zero-variance' end, 'as declared', 1, s.finished_at
    from ${taken} join samples s using (tree_id) where g.kind < 3 or g.kind = 3 and s.ordinal = 3`.execute(db);
  await sql`
    insert into batch_samples (rollout_id, batch_id, policy_id, tree_id, group_ordinal, place)
    select s.rollout_id, md5('batch' || g.place / ${BATCH.groups})::uuid, 'bench', s.tree_id, g.place % ${BATCH.groups},
      row_number() over (partition by g.place / ${BATCH.groups} order by g.place, s.ordinal) - 1
    from (select g.tree_id, g.kind, row_number() over (order by g.i) - 1 as place from ${taken} where g.kind > 2) g
    join samples s using (tree_id) where g.kind > 3 or s.ordinal <> 3`.execute(db);
  await sql`
    insert into lineages (lineage_id, policy_id, estimator, rules, seed, trainer, declared_at)
    select md5('lineage')::uuid, 'bench', ${ESTIMATOR}::jsonb, ${RULES}::jsonb, 1, '{"backend": "torch"}', min(started_at)
    from runs`.execute(db);
  await sql`
    insert into batches (batch_id, lineage_id, policy_id, ordinal, policy_version, estimator, rules, seed, position, groups, samples, tokens,
      shards, manifest_hash, planned_at)
    select md5('batch' || b)::uuid, md5('lineage')::uuid, 'bench', b, b, ${ESTIMATOR}::jsonb, ${RULES}::jsonb, 1, '', h.groups,
      h.samples, h.samples * 5000, '[]', '', timestamptz '2026-02-01' + b * interval '1 min'
    from generate_series(0, (select count(distinct batch_id) - 1 from batch_samples)) b cross join lateral (
      select count(*) as samples, count(distinct tree_id) as groups from batch_samples s where s.batch_id = md5('batch' || b)::uuid) h`.execute(
    db,
  );
  const trained = sql`ordinal < (select max(ordinal) + 1 - ${BATCH.open} from batches)`;
  await sql`
    insert into leases (lease_id, batch_id, lineage_id, policy_id, fence, consumer, deadline, leased_at, ended_at, ended_by)
    select batch_id, batch_id, lineage_id, policy_id, ordinal + 1, 'trainer', planned_at + interval '5 min', planned_at,
      case when ${trained} then planned_at end, case when ${trained} then 'acked' end
    from batches where ordinal < (select max(ordinal) + 1 - ${BATCH.open - BATCH.leased} from batches)`.execute(db);
  await sql`
    insert into batch_acks (batch_id, lineage_id, policy_id, lease_id, version, checkpoint_id, acked_at)
    select batch_id, lineage_id, policy_id, batch_id, ordinal + 1, batch_id, planned_at from batches where ${trained}`.execute(
    db,
  );
  const versions = sql`(
    select lineage_id, ordinal + 1 as version, ordinal as parent, batch_id, batch_id as checkpoint_id, samples, planned_at as at
    from batches where ${trained}
    union all select md5('lineage')::uuid, 0, null, null, md5('checkpoint')::uuid, 0, timestamptz '2026-01-31') v`;
  await sql`
    insert into checkpoints (checkpoint_id, lineage_id, policy_id, version, backend, weights, saved_at)
    select checkpoint_id, lineage_id, 'bench', version, 'torch', '', at from ${versions}`.execute(db);
  await sql`
    insert into policy_versions (lineage_id, version, policy_id, parent_version, batch_id, checkpoint_id, weights, estimator, samples,
      metrics, updated_at)
    select lineage_id, version, 'bench', parent, batch_id, checkpoint_id, '', case when batch_id is not null then ${ESTIMATOR}::jsonb end,
      samples, '{"loss": 0.5, "entropy": 1.5}', at from ${versions}`.execute(db);
}
