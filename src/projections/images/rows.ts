import type { Delivery, Envelope } from '../../events/envelope.ts';

/** The rows that the events of history images become, with the column types of their bulk writes beside them. */

export const SPEC_COLUMNS = { render_spec_id: 'text', spec: 'jsonb' };
export function specRow({ data }: Envelope<'RenderSpecRegistered'>): Record<keyof typeof SPEC_COLUMNS, unknown> {
  return { render_spec_id: data.renderSpecId, spec: data.spec };
}

export const RUN_SPEC_COLUMNS = { run_id: 'uuid', render_spec_id: 'text', profile: 'text', registered_at: 'timestamptz' };
export function runSpecRow({
  data,
  occurredAt,
}: Envelope<'RenderSpecRegistered'>): Record<keyof typeof RUN_SPEC_COLUMNS, unknown> {
  return { run_id: data.runId, render_spec_id: data.renderSpecId, profile: data.profile, registered_at: occurredAt };
}

export const SEGMENT_COLUMNS = {
  segment_id: 'text',
  render_spec_id: 'text',
  text: 'text',
  lines: 'integer',
  width: 'integer',
  height: 'integer',
  rgb: 'text',
  cut_lines: 'integer',
  outside: 'integer',
  run_id: 'uuid',
  rendered_at: 'timestamptz',
  blobs: 'jsonb',
};
export function segmentRow({
  data,
  correlationId,
  occurredAt,
}: Envelope<'SegmentRendered'>): Record<keyof typeof SEGMENT_COLUMNS, unknown> {
  return {
    segment_id: data.segmentId,
    render_spec_id: data.renderSpecId,
    text: typeof data.text === 'string' ? data.text : '',
    lines: data.lines,
    width: data.width,
    height: data.height,
    rgb: data.rgb,
    cut_lines: data.cutLines,
    outside: data.outside,
    run_id: correlationId,
    rendered_at: occurredAt,
    blobs: typeof data.text === 'string' ? null : { text: data.text },
  };
}

export const HISTORY_COLUMNS = {
  step_id: 'uuid',
  tree_id: 'uuid',
  run_id: 'uuid',
  render_spec_id: 'text',
  prefix_step_id: 'uuid',
  prefix_from: 'integer',
  prefix_to: 'integer',
  segments: 'jsonb',
  length: 'integer',
  history: 'text',
  missed: 'jsonb',
  factor: 'double precision',
  factor_chosen_by: 'uuid',
  raw_width: 'integer',
  raw_height: 'integer',
  resized_width: 'integer',
  resized_height: 'integer',
  width: 'integer',
  height: 'integer',
  model_width: 'integer',
  model_height: 'integer',
  vision_tokens: 'integer',
  vision_preset: 'text',
  text_tokens: 'integer',
  tokenizer: 'text',
  image_id: 'text',
  cut_segments: 'integer',
  cut_lines: 'integer',
  outside: 'integer',
  render_ms: 'double precision',
  rendered_at: 'timestamptz',
  log_offset: 'bigint',
};
export function historyRow(
  { event, offset }: Delivery<Envelope<'HistoryRendered'>>,
  length: number,
): Record<keyof typeof HISTORY_COLUMNS, unknown> {
  const { data } = event;
  const { raw, resized, bordered, model } = data.sizes;
  return {
    step_id: data.stepId,
    tree_id: data.treeId,
    run_id: event.correlationId,
    render_spec_id: data.renderSpecId,
    prefix_step_id: data.prefix?.stepId ?? null,
    prefix_from: data.prefix?.from ?? 0,
    prefix_to: data.prefix?.to ?? 0,
    segments: data.segments,
    length,
    history: data.history,
    missed: data.cache.missed,
    factor: data.factor,
    factor_chosen_by: data.factorChosenBy,
    raw_width: raw.width,
    raw_height: raw.height,
    resized_width: resized.width,
    resized_height: resized.height,
    width: bordered.width,
    height: bordered.height,
    model_width: model.width,
    model_height: model.height,
    vision_tokens: data.visionTokens.count,
    vision_preset: data.visionTokens.preset,
    text_tokens: data.textTokens.count,
    tokenizer: data.textTokens.tokenizer,
    image_id: data.imageId,
    cut_segments: data.cut.segments,
    cut_lines: data.cut.lines,
    outside: data.outside,
    render_ms: data.timings.renderMs,
    rendered_at: event.occurredAt,
    log_offset: offset,
  };
}
