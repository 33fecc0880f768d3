import { sql } from 'kysely';
import type { Db } from '../../src/postgres/database.ts';

/** Runs whose steps were shown their history as images. */
export const DRAWN_RUNS = 2;
/** Releases, and the lines of each. */
export const RELEASED = { datasets: 20, lines: 1_000 } as const;

/** Fills what people and programs add to trees: annotations, revisions, releases, images of histories, back-ups of searches. */
export async function fillShown(db: Db, { trees, runs }: { readonly trees: number; readonly runs: number }): Promise<void> {
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
