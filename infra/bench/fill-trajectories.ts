import { sql } from 'kysely';
import type { Db } from '../../src/postgres/database.ts';

const ROLLOUTS = 8; // of a group

/** Fills what the table of trajectories is read from, as the projections would have: groups of rollouts, returns and leaves. */
export async function fillTrajectories(db: Db, { trajectories, runs }: { readonly trajectories: number; readonly runs: number }) {
  const trees = Math.ceil(trajectories / ROLLOUTS);
  await sql`
    insert into trees (tree_id, run_id, task_id, environment, server_fingerprint, observation_hash, alias, goal, task_depth, split,
      root_step_id, instruction, planned_rollouts, seed, opened_at)
    select md5('tree' || i)::uuid, md5('run' || i % ${runs})::uuid, md5('task' || i % 500)::uuid, 'textcraft', 'w', '', 'task ' || i % 500,
      '', i % 5, 'train', md5('root' || i)::uuid, '', ${ROLLOUTS}, i, timestamptz '2026-01-01' + i * interval '1 s'
    from generate_series(0, ${trees} - 1) i`.execute(db);
  const each = sql`generate_series(0, ${trajectories} - 1) n join trees t on t.tree_id = md5('tree' || n / ${ROLLOUTS})::uuid`;
  const leaf = sql`md5('leaf' || n)::uuid`;
  await sql`
    insert into rollouts (rollout_id, tree_id, run_id, task_id, environment, from_step_id, ordinal, seed, policy_id, policy_version,
      started_at, finished_at, outcome, success, leaf_step_id, steps, reason)
    select md5('rollout' || n)::uuid, t.tree_id, t.run_id, t.task_id, t.environment, t.root_step_id, n % ${ROLLOUTS}, n, 'bench', n / 8192,
      t.opened_at, t.opened_at + interval '61.5 s', 'terminated', n % 3 = 0, ${leaf}, 10 + n % 20, '' from ${each}`.execute(db);
  await sql`
    insert into step_tree_v1.steps (step_id, tree_id, parent_step_id, rollout_id, depth, log_offset, response, thought, action, observation,
      well_formatted, executable, termination, policy_spans, policy_ms, environment_ms, occurred_at)
    select ${leaf}, t.tree_id, t.root_step_id, md5('rollout' || n)::uuid, 10 + n % 20, n, '', '', 'inventory', '', true, true, 'terminated',
      '[]', 1, 1, t.opened_at from ${each}`.execute(db);
  await sql`
    insert into returns (rollout_id, tree_id, run_id, leaf_step_id, value)
    select md5('rollout' || n)::uuid, t.tree_id, t.run_id, ${leaf}, (n % 3 = 0)::int + n % 7 / 10.0 from ${each}`.execute(db);
  for (const table of ['trees', 'rollouts', 'steps', 'returns']) await sql`analyze ${sql.table(table)}`.execute(db);
}
