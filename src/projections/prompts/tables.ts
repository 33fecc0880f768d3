// Generated from tables.sql by `npm run codegen:tables`; digest of both: 2e440c7e34345d78
import type { Blobs, Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  prompts: table('prompts', ['step_id'], {
    step_id: column<string>('uuid'),
    tree_id: column<string>('uuid'),
    run_id: column<string>('uuid'),
    base_step_id: column<string | null>('uuid'),
    base_messages: column<number>('integer'),
    messages: column<Json<Record<string, unknown>[]>>('jsonb'),
    length: column<number>('integer'),
    sha256: column<string>('text'),
    template: column<string | null>('text'),
    template_version: column<number | null>('integer'),
    tools: column<string | null>('text'),
    sampling: column<Json<Record<string, unknown>>>('jsonb'),
    server: column<string | null>('text'),
    tokens_before: column<number | null>('integer'),
    tokens_kept: column<number | null>('integer'),
    tokens: column<Json<Record<string, unknown>> | null>('jsonb'),
    token_count: column<number | null>('integer'),
    drifted: column<boolean>('boolean'),
    log_offset: column<number>('bigint'),
    shown_at: column<Instant>('timestamptz'),
    blobs: column<Json<Blobs> | null>('jsonb'),
  }),
  prompt_blocks: table('prompt_blocks', ['sha256'], {
    sha256: column<string>('text'),
    text: column<string>('text'),
    blobs: column<Json<Blobs> | null>('jsonb'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
