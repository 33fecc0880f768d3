import { sql } from 'kysely';
import { derivedId } from '../../src/events/derived-id.ts';
import { DEFAULT_STAMP } from '../../src/events/envelope.ts';
import { recordset } from '../../src/postgres/bulk.ts';
import type { Db } from '../../src/postgres/database.ts';

export interface PoolFill {
  readonly policyId: string;
  /** Names the groups: another name, other groups. */
  readonly name: string;
  readonly groups: number;
  readonly members: number;
}
const SLICE = 10_000;

/**
 * Fills the training pool, and the trees that the planner looks at, with closed, scored groups of one run, as the projections
 * would have: rollouts of one step. Half of the members of each have the reward 1.
 */
export async function fillPool(db: Db, { policyId, name, groups, members }: PoolFill): Promise<void> {
  const runId = derivedId('run', policyId);
  await sql`
    insert into training_runs (run_id, policy_id, channel, started_at) values (${runId}::uuid, ${policyId}, 'train', now())
    on conflict do nothing`.execute(db);
  // A policy is trained on the runs of its project.
  await sql`
    insert into owners (stream, topic, principal, project) values (${runId}::uuid, 'runs', ${DEFAULT_STAMP.principal}, ${DEFAULT_STAMP.project})
    on conflict do nothing`.execute(db);
  const rows = Array.from({ length: groups * members }, (_, i) => {
    const group = Math.floor(i / members);
    const tree_id = derivedId('tree', policyId, name, group);
    return { tree_id, ordinal: i % members, group, rollout_id: derivedId('rollout', tree_id, i % members) };
  });
  for (let from = 0; from < rows.length; from += SLICE) {
    const columns = { tree_id: 'uuid', ordinal: 'integer', group: 'integer', rollout_id: 'uuid' };
    await sql`
      with r as materialized (select * from ${recordset(rows.slice(from, from + SLICE), columns)}), g as (
        insert into groups (tree_id, run_id, task_id, planned_rollouts, opened_at, closed_at, close_reason)
        select tree_id, ${runId}::uuid, tree_id, ${members}, now(), now() + "group" * interval '1 ms', 'complete' from r where ordinal = 0
      ), t as (
        insert into trees (tree_id, run_id, task_id, environment, server_fingerprint, observation_hash, alias, goal, root_step_id, instruction,
          planned_rollouts, seed, opened_at, closed_at, close_reason)
        select tree_id, ${runId}::uuid, tree_id, 'bench', '', '', '', '', tree_id, '', ${members}, 0, now(), now(), 'complete' from r where ordinal = 0
      ), s as (
        insert into step_tree_v1.steps (step_id, tree_id, parent_step_id, rollout_id, depth, log_offset, response, thought, action, observation, well_formatted,
          executable, termination, policy_spans, policy_ms, environment_ms, occurred_at)
        select tree_id, tree_id, null, null, 0, 0, '', '', '', '', true, true, 'none', '[]'::jsonb, 0, 0, now() from r where ordinal = 0
        union all
        select rollout_id, tree_id, tree_id, rollout_id, 1, ordinal + 1, '', '', '', '', true, true, 'terminated', '[]'::jsonb, 0, 0, now() from r
      ), o as (
        insert into rollouts (rollout_id, tree_id, run_id, task_id, environment, from_step_id, ordinal, seed, policy_id, policy_version, started_at,
          finished_at, outcome, success, leaf_step_id, steps)
        select rollout_id, tree_id, ${runId}::uuid, tree_id, 'bench', tree_id, ordinal, 0, ${policyId}, 0, now(), now(), 'terminated', true, rollout_id, 1
        from r
      )
      insert into samples (rollout_id, tree_id, ordinal, policy_id, policy_version, started_at, finished_at, outcome, success, leaf_step_id, taken,
        sampled_tokens, context_tokens, row_tokens, oldest_version, newest_version, policies, scores, scored_at)
      select rollout_id, tree_id, ordinal, ${policyId}, 0, now(), now(), 'terminated', true, rollout_id, 1, 900, 1000, 2000, 0, 0,
        ${JSON.stringify([policyId])}::jsonb, jsonb_build_object('environment', ordinal % 2), '{"environment": 1}' from r`.execute(
      db,
    );
  }
  await sql`analyze`.execute(db);
}
