// Generated from tables.sql by `npm run codegen:tables`; digest of both: d1baf4780d52f6af
import type { Blobs, Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  render_specs: table('render_specs', ['render_spec_id'], {
    render_spec_id: column<string>('text'),
    spec: column<Json<Record<string, unknown>>>('jsonb'),
  }),
  run_render_specs: table('run_render_specs', ['run_id', 'render_spec_id'], {
    run_id: column<string>('uuid'),
    render_spec_id: column<string>('text'),
    profile: column<string>('text'),
    registered_at: column<Instant>('timestamptz'),
  }),
  segments: table('segments', ['segment_id'], {
    segment_id: column<string>('text'),
    render_spec_id: column<string>('text'),
    text: column<string>('text'),
    lines: column<number>('integer'),
    width: column<number>('integer'),
    height: column<number>('integer'),
    rgb: column<string>('text'),
    cut_lines: column<number>('integer'),
    outside: column<number>('integer'),
    run_id: column<string>('uuid'),
    rendered_at: column<Instant>('timestamptz'),
    blobs: column<Json<Blobs> | null>('jsonb'),
  }),
  history_images: table('history_images', ['step_id'], {
    step_id: column<string>('uuid'),
    tree_id: column<string>('uuid'),
    run_id: column<string>('uuid'),
    render_spec_id: column<string>('text'),
    prefix_step_id: column<string | null>('uuid'),
    prefix_from: column<number>('integer'),
    prefix_to: column<number>('integer'),
    segments: column<Json<string[]>>('jsonb'),
    length: column<number>('integer'),
    history: column<'segments' | 'blank' | 'absent'>('text'),
    missed: column<Json<number[]>>('jsonb'),
    factor: column<number>('double precision'),
    factor_chosen_by: column<string | null>('uuid'),
    raw_width: column<number>('integer'),
    raw_height: column<number>('integer'),
    resized_width: column<number>('integer'),
    resized_height: column<number>('integer'),
    width: column<number>('integer'),
    height: column<number>('integer'),
    model_width: column<number>('integer'),
    model_height: column<number>('integer'),
    vision_tokens: column<number>('integer'),
    vision_preset: column<string>('text'),
    text_tokens: column<number>('integer'),
    tokenizer: column<string>('text'),
    image_id: column<string>('text'),
    cut_segments: column<number>('integer'),
    cut_lines: column<number>('integer'),
    outside: column<number>('integer'),
    render_ms: column<number>('double precision'),
    rendered_at: column<Instant>('timestamptz'),
    log_offset: column<number>('bigint'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
