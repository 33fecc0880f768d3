import { sql } from 'kysely';
import type { Db } from '../../src/postgres/database.ts';
import { fillTraining } from './fill-training.ts';

export interface AnswersFill {
  readonly trees: number;
  readonly runs: number;
  readonly tasks: number;
}
/** Rollouts of a tree, and steps of a rollout. */
export const SHAPE = { rollouts: 8, steps: 10 } as const;

/** How many events a record of this size holds: openings and ends, steps, rewards, calls of tools, judgements and back-ups. */
export function eventsOf({ trees, runs }: AnswersFill): number {
  const steps = trees * SHAPE.rollouts * SHAPE.steps;
  return 2 * runs + 2 * trees + 3 * trees * SHAPE.rollouts + steps + Math.floor(steps / 5) + 2 * Math.floor(steps / 100);
}

/** Reports what is done next: a record of a million events takes minutes. */
export type Saying = (text: string) => void;

const TREES_AT_A_TIME = 1_000;

/**
 * Fills the read models as the projections would have, straight from the database's own series: groups of rollouts of several
 * runs over the same tasks, steps of about 1 KB whose words are common and rare, a tool call in every fifth step, a judgement
 * and a process reward in every hundredth, statistics of a search in every tenth tree. Rows are written without the write-ahead
 * log, and indexes built behind them: an index of random ids that grows row by row takes several times as long.
 */
export async function fillAnswers(db: Db, fill: AnswersFill, say: Saying = () => undefined): Promise<void> {
  const tables = await tablesOf(db);
  for (const table of tables) await sql`alter table ${sql.raw(table)} set unlogged`.execute(db);
  const { rows: indexes } = await sql<{ name: string; definition: string }>`
    select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition from pg_index i
    where i.indrelid = any(${tables}::regclass[])
      and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`.execute(db);
  for (const { name } of indexes) await sql`drop index ${sql.raw(name)}`.execute(db);
  await fillTables(db, fill, say);
  say(`building ${indexes.length} indexes`);
  for (const { definition } of indexes) await sql`${sql.raw(definition)}`.execute(db);
}

async function fillTables(db: Db, { trees, runs, tasks }: AnswersFill, say: Saying): Promise<void> {
  await sql`
    insert into runs (run_id, name, kind, seed, code_version, config, environments, policy_id, policy_version, started_at)
    select md5('run' || r)::uuid, 'run ' || r, 'collect', r, 'bench', '{}', '[]', 'bench', r, timestamptz '2026-01-01' + r * interval '1 hour'
    from generate_series(0, ${runs} - 1) r`.execute(db);
  await sql`
    insert into trees (tree_id, run_id, task_id, environment, server_fingerprint, observation_hash, alias, goal, task_depth, split,
      root_step_id, instruction, planned_rollouts, seed, opened_at, closed_at, close_reason, kind)
    select md5('tree' || i)::uuid, md5('run' || i % ${runs})::uuid, md5('task' || i / ${runs} % ${tasks})::uuid,
      case when i / ${runs} % ${tasks} % 4 = 0 then 'search-qa' else 'textcraft' end, 'w', '', 'task ' || i / ${runs} % ${tasks},
      'craft item ' || i / ${runs} % ${tasks}, i / ${runs} % ${tasks} % 5, 'train', md5('root' || i)::uuid, '', ${SHAPE.rollouts}, i,
      timestamptz '2026-01-01' + i * interval '1 s', timestamptz '2026-01-01' + i * interval '1 s', 'completed', 'kind ' || i / ${runs} % ${tasks} % 6
    from generate_series(0, ${trees} - 1) i`.execute(db);
  await sql`
    insert into rollouts (rollout_id, tree_id, run_id, task_id, environment, from_step_id, ordinal, seed, policy_id, policy_version,
      started_at, finished_at, outcome, success, leaf_step_id, steps)
    select md5('rollout' || i || ' ' || o)::uuid, t.tree_id, t.run_id, t.task_id, t.environment, t.root_step_id, o, o, 'bench',
      i % ${runs} / 2, t.opened_at, t.opened_at + interval '1 min', 'terminated', (i * 7 + o * 13) % 10 < 6,
      md5('step' || i || ' ' || o || ' ' || ${SHAPE.steps})::uuid, ${SHAPE.steps}
    from generate_series(0, ${trees} - 1) i join trees t on t.tree_id = md5('tree' || i)::uuid, generate_series(0, ${SHAPE.rollouts} - 1) o`.execute(
    db,
  );
  await sql`
    insert into step_tree_v3.steps (step_id, tree_id, parent_step_id, rollout_id, depth, log_offset, response, thought, action, observation,
      well_formatted, executable, termination, policy_spans, prompt_tokens, completion_tokens, policy_ms, environment_ms, occurred_at)
    select t.root_step_id, t.tree_id, null, null, 0, i * 1000, '', '', '', 'Goal: ' || t.goal, true, true, 'none', '[]', null, null, 0, 0, t.opened_at
    from generate_series(0, ${trees} - 1) i join trees t on t.tree_id = md5('tree' || i)::uuid`.execute(db);
  for (let from = 0; from < trees; from += TREES_AT_A_TIME) {
    say(`steps of ${from} of ${trees} trees`);
    await sql`
    insert into step_tree_v3.steps (step_id, tree_id, parent_step_id, rollout_id, depth, log_offset, response, thought, action, observation,
      well_formatted, executable, termination, policy_spans, prompt_tokens, completion_tokens, policy_ms, environment_ms, occurred_at)
    select md5('step' || i || ' ' || o || ' ' || d)::uuid, t.tree_id,
      case when d = 1 then t.root_step_id else md5('step' || i || ' ' || o || ' ' || d - 1)::uuid end, md5('rollout' || i || ' ' || o)::uuid,
      d, i * 1000 + o * ${SHAPE.steps} + d, '', 'I need ' || repeat('some more wood to go on with this ', 4) || 'word' || i % 500 || ' choice' || (i * 8 + o) % 40,
      case when (i + o + d) % 3 = 0 then 'inventory' else 'craft ' || (i * 31 + o * 7 + d) % 1000 || ' planks' end,
      'You see ' || repeat('an oak log, a stick and the crafting table in front of you; ', 10) || 'item rare' || (i * 8 + o) % 5000,
      true, (i + d) % 10 <> 0, case when d = ${SHAPE.steps} then 'terminated' else 'none' end,
      jsonb_build_array(jsonb_build_object('from', 0, 'to', 9, 'policyId', 'bench', 'version', i % ${runs} / 2)), 400, 30, 100, 2,
      t.opened_at + d * interval '1 s'
    from generate_series(${from}::int, ${Math.min(from + TREES_AT_A_TIME, trees)} - 1) i join trees t on t.tree_id = md5('tree' || i)::uuid,
      generate_series(0, ${SHAPE.rollouts} - 1) o, generate_series(1, ${SHAPE.steps}) d`.execute(db);
  }
  say('calls, rewards, judgements, samples');
  await sql`
    insert into tool_calls (tool_call_id, tree_id, step_id, ordinal, tool, arguments, output, outcome, duration_ms)
    select md5('call' || step_id)::uuid, tree_id, step_id, 0, case when log_offset % 25 = 0 then 'calculator' else 'search' end, '{}', 'found',
      case when log_offset % 35 = 0 then 'error' else 'ok' end, log_offset % 997
    from steps where depth > 0 and log_offset % 5 = 0`.execute(db);
  await sql`
    insert into rewards (reward_id, tree_id, step_id, rollout_id, component, value, assigned_value, scorer, scorer_revision, revisions, assigned_at)
    select md5('reward' || rollout_id)::uuid, tree_id, leaf_step_id, rollout_id, 'environment', success::int, success::int, 'environment', '1', 0, finished_at
    from rollouts
    union all
    select md5('process' || step_id)::uuid, tree_id, step_id, null, 'process', 0.1, 0.1, 'judge', '1', 0, occurred_at
    from steps where depth = 5 and log_offset % 10 = 5 and log_offset / 10 % 10 = 3`.execute(db);
  await sql`
    insert into returns (rollout_id, tree_id, run_id, leaf_step_id, value)
    select rollout_id, tree_id, run_id, leaf_step_id, success::int from rollouts`.execute(db);
  await sql`
    insert into judgements (judgement_id, tree_id, run_id, leaf_step_id, step_id, step_index, judge, prompt_hash, verdict, reply, judged_at, log_offset)
    select md5('judgement' || s.step_id)::uuid, s.tree_id, t.run_id, s.step_id, s.step_id, s.depth, 'judge', md5(s.step_id::text),
      (array['good', 'bad', 'uncertain', 'unparsed'])[1 + s.log_offset / 10 % 4], '', s.occurred_at, s.log_offset
    from steps s join trees t using (tree_id) where s.depth = 6 and s.log_offset / 10 % 10 = 1`.execute(db);
  await sql`
    insert into node_statistics (step_id, tree_id, visits, value_sum)
    select step_id, tree_id, 1 + log_offset % 50, 1 from steps where log_offset / 1000 % 10 = 0`.execute(db);
  say('training, annotations, images, releases');
  await fillTraining(db, { trees, runs });
  await fillShown(db, { trees, runs });
}

/**
 * What autovacuum does in its own time: pages that index-only scans need not look at, and statistics for the planner, which
 * `buildTextIndexes` has gathered of steps and trees. Nothing was deleted: no index is to be cleaned.
 */
export async function settleAnswers(db: Db): Promise<void> {
  for (const name of await tablesOf(db)) {
    await sql`vacuum (index_cleanup off) ${sql.raw(name)}`.execute(db);
    if (!/\.(steps|trees)$/.test(name)) await sql`analyze ${sql.raw(name)}`.execute(db);
  }
}

/** The live tables that are filled. */
async function tablesOf(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '_v[0-9]+$' and c.relkind = 'r' and c.relname = any(${TABLES}::text[])`.execute(db);
  return rows.map(({ name }) => name);
}

const TABLES = [
  ...[
    'trees',
    'steps',
    'rollouts',
    'tool_calls',
    'rewards',
    'returns',
    'judgements',
    'node_statistics',
    'training_runs',
    'groups',
  ],
  ...['samples', 'sample_rejections', 'batches', 'batch_samples', 'batch_acks', 'leases', 'checkpoints', 'policy_versions'],
  ...[
    'runs',
    'owners',
    'annotations',
    'history_images',
    'segments',
    'revisions',
    'dataset_examples',
    'backups',
    'settled_samples',
  ],
];

/** Runs whose steps were shown their history as images. */
export const DRAWN_RUNS = 2;
/** Releases, and the lines of each. */
export const RELEASED = { datasets: 20, lines: 1_000 } as const;

/** Fills what people and programs add to trees: annotations, revisions, releases, images of histories, back-ups of searches. */
async function fillShown(db: Db, { trees, runs }: { readonly trees: number; readonly runs: number }): Promise<void> {
  await sql`
    insert into annotations (annotation_id, tree_id, run_id, kind, step_id, label, score, note, principal, added_at)
    select md5('annotation' || s.step_id)::uuid, s.tree_id, t.run_id, 'step', s.step_id,
      (array['loop', 'good idea', 'wrong tool', 'unclear'])[1 + s.log_offset % 4], null, 'seen', 'local', s.occurred_at
    from steps s join trees t using (tree_id) where s.depth = 4 and s.log_offset % 13 = 0`.execute(db);
  await sql`
    insert into revisions (revision_id, tree_id, run_id, good_leaf_step_id, bad_leaf_step_id, branch_step_id, transition_step_id,
      transition_cause, judged, reflection, signal, alpha, beta, judge, content_hash, state, reached, threshold, composed_at, checked_at,
      log_offset)
    select md5('revision' || g.tree_id)::uuid, g.tree_id, g.run_id, g.leaf_step_id, b.leaf_step_id, g.from_step_id, b.leaf_step_id, 'bad', 3,
      'I should have looked first.', 'thought', 1, 0, 'judge', md5(g.rollout_id::text),
      case when hashtext(g.tree_id::text) % 2 = 0 then 'verified' else 'rejected' end, 1, 1, g.finished_at, g.finished_at, 999
    from rollouts g join rollouts b on b.tree_id = g.tree_id and b.ordinal = g.ordinal + 1
    where g.ordinal = 0 and g.success and not b.success`.execute(db);
  await sql`
    insert into datasets (dataset_id, name, version, format, format_version, query, parameters, position, counts, bytes, sha256,
      code_version, runs, released_at)
    select md5('dataset' || d)::uuid, 'bench ' || d % 5, 1 + d / 5, 'trajectories', 1, '{}', '{}', '{}',
      ${JSON.stringify({ lines: RELEASED.lines })}::jsonb, 1000000, md5('dataset' || d), 'bench', array[md5('run' || d % ${runs})::uuid],
      timestamptz '2026-03-01' + d * interval '1 hour'
    from generate_series(0, ${RELEASED.datasets} - 1) d`.execute(db);
  await sql`
    insert into dataset_examples (dataset_id, line, lines, kind, tree_id, good_rollout_id)
    select md5('dataset' || d)::uuid, l, 1, 'good', md5('tree' || (d * 131 + l * 7) % ${trees})::uuid,
      md5('rollout' || (d * 131 + l * 7) % ${trees} || ' ' || l % 8)::uuid
    from generate_series(0, ${RELEASED.datasets} - 1) d, generate_series(0, ${RELEASED.lines} - 1) l`.execute(db);
  await sql`insert into render_specs (render_spec_id, spec) values ('bench', '{}')`.execute(db);
  await sql`
    insert into run_render_specs (run_id, render_spec_id, profile, registered_at)
    select run_id, 'bench', 'bench', started_at from runs where seed < ${DRAWN_RUNS}`.execute(db);
  await sql`
    insert into history_images (step_id, tree_id, run_id, render_spec_id, prefix_step_id, prefix_from, prefix_to, segments, length, history,
      missed, factor, raw_width, raw_height, resized_width, resized_height, width, height, model_width, model_height, vision_tokens,
      vision_preset, text_tokens, tokenizer, image_id, cut_segments, cut_lines, outside, unshaped, render_ms, rendered_at, log_offset)
    select s.step_id, s.tree_id, t.run_id, 'bench', null, 0, 0, '[]', s.depth, 'segments', '[0]', 1, 392, 28 * s.depth, 392, 28 * s.depth,
      392, 28 * s.depth, 392, 28 * s.depth, 14 * s.depth, 'bench', 60 * s.depth, 'bench', md5(s.step_id::text), 0, 0, 0, 0, 1, s.occurred_at,
      s.log_offset
    from trees t join steps s using (tree_id) where t.run_id in (select run_id from runs where seed < ${DRAWN_RUNS}) and s.depth > 0`.execute(
    db,
  );
  await sql`
    insert into backups (event_id, tree_id, simulation, leaf_step_id, value, path, log_offset)
    select md5('backup' || rollout_id)::uuid, tree_id, ordinal, leaf_step_id, success::int, array[from_step_id, leaf_step_id], 900 + ordinal
    from rollouts where tree_id in (select tree_id from node_statistics)`.execute(db);
}
