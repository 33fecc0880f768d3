// Generated from tables.sql by `npm run codegen:tables`; digest of both: d98a09d108da7291
import type { Blobs, Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  prompts: table('prompts', ['promptId', 'treeId'], {
    promptId: column<string>('uuid'),
    stepId: column<string | null>('uuid'),
    treeId: column<string>('uuid'),
    runId: column<string>('uuid'),
    baseId: column<string | null>('uuid'),
    baseMessages: column<number>('integer'),
    messages: column<Json<Record<string, unknown>[]>>('jsonb'),
    length: column<number>('integer'),
    withImages: column<boolean>('boolean'),
    structured: column<boolean>('boolean'),
    sha256: column<string>('text'),
    template: column<string | null>('text'),
    templateVersion: column<number | null>('integer'),
    tools: column<string | null>('text'),
    sampling: column<Json<Record<string, unknown>>>('jsonb'),
    server: column<string | null>('text'),
    model: column<string | null>('text'),
    answer: column<Json<Record<string, unknown>> | null>('jsonb'),
    tokensBefore: column<number | null>('integer'),
    tokensKept: column<number | null>('integer'),
    tokens: column<Json<Record<string, unknown>> | null>('jsonb'),
    tokenCount: column<number | null>('integer'),
    drifted: column<boolean>('boolean'),
    logOffset: column<number>('bigint'),
    shownAt: column<Instant>('timestamptz'),
    blobs: column<Json<Blobs> | null>('jsonb'),
  }),
  promptBlocks: table('prompt_blocks', ['sha256'], {
    sha256: column<string>('text'),
    text: column<string>('text'),
    blobs: column<Json<Blobs> | null>('jsonb'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
