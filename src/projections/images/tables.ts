// Generated from tables.sql by `npm run codegen:tables`; digest of both: 3800f3eae33d2309
import type { Blobs, Instant, Json } from '../../postgres/column-types.ts';
import { column, type TypesOf, table } from '../../postgres/table.ts';

export const tables = {
  renderSpecs: table('render_specs', ['renderSpecId'], {
    renderSpecId: column<string>('text'),
    spec: column<Json<Record<string, unknown>>>('jsonb'),
  }),
  runRenderSpecs: table('run_render_specs', ['runId', 'renderSpecId'], {
    runId: column<string>('uuid'),
    renderSpecId: column<string>('text'),
    profile: column<string>('text'),
    registeredAt: column<Instant>('timestamptz'),
  }),
  segments: table('segments', ['segmentId'], {
    segmentId: column<string>('text'),
    renderSpecId: column<string>('text'),
    text: column<string>('text'),
    lines: column<number>('integer'),
    width: column<number>('integer'),
    height: column<number>('integer'),
    rgb: column<string>('text'),
    cutLines: column<number>('integer'),
    outside: column<number>('integer'),
    unshaped: column<number>('integer'),
    runId: column<string>('uuid'),
    renderedAt: column<Instant>('timestamptz'),
    blobs: column<Json<Blobs> | null>('jsonb'),
  }),
  historyImages: table('history_images', ['stepId', 'treeId'], {
    stepId: column<string>('uuid'),
    treeId: column<string>('uuid'),
    runId: column<string>('uuid'),
    renderSpecId: column<string>('text'),
    prefixStepId: column<string | null>('uuid'),
    prefixFrom: column<number>('integer'),
    prefixTo: column<number>('integer'),
    segments: column<Json<string[]>>('jsonb'),
    length: column<number>('integer'),
    history: column<'segments' | 'blank' | 'absent'>('text'),
    missed: column<Json<number[]>>('jsonb'),
    factor: column<number>('double precision'),
    factorChosenBy: column<string | null>('uuid'),
    rawWidth: column<number>('integer'),
    rawHeight: column<number>('integer'),
    resizedWidth: column<number>('integer'),
    resizedHeight: column<number>('integer'),
    width: column<number>('integer'),
    height: column<number>('integer'),
    modelWidth: column<number>('integer'),
    modelHeight: column<number>('integer'),
    visionTokens: column<number>('integer'),
    visionPreset: column<string>('text'),
    textTokens: column<number>('integer'),
    tokenizer: column<string>('text'),
    imageId: column<string>('text'),
    cutSegments: column<number>('integer'),
    cutLines: column<number>('integer'),
    outside: column<number>('integer'),
    unshaped: column<number>('integer'),
    renderMs: column<number>('double precision'),
    renderedAt: column<Instant>('timestamptz'),
    logOffset: column<number>('bigint'),
  }),
};

type Own = TypesOf<typeof tables>; // inside the module below, `tables` is its own
declare module '../../postgres/tables.ts' {
  interface Tables extends Own {}
}
