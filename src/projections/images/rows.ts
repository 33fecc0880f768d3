import type { Delivery, Envelope } from '../../events/envelope.ts';
import type { Row } from '../../postgres/table.ts';
import type { tables } from './tables.ts';

/** The rows that the events of history images become. */

export function specRow({ data }: Envelope<'RenderSpecRegistered'>): Row<typeof tables.render_specs> {
  return { render_spec_id: data.renderSpecId, spec: data.spec };
}

export function runSpecRow({ data, occurredAt }: Envelope<'RenderSpecRegistered'>): Row<typeof tables.run_render_specs> {
  return { run_id: data.runId, render_spec_id: data.renderSpecId, profile: data.profile, registered_at: occurredAt };
}

export function segmentRow({ data, correlationId, occurredAt }: Envelope<'SegmentRendered'>): Row<typeof tables.segments> {
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

export function historyRow(
  { event, offset }: Delivery<Envelope<'HistoryRendered'>>,
  length: number,
): Row<typeof tables.history_images> {
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
