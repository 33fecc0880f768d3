import type { Delivery, Envelope } from '../../events/envelope.ts';
import type { Row } from '../../postgres/table.ts';
import type { tables } from './tables.ts';

/** The rows that the events of history images become. */

export function specRow({ data }: Envelope<'RenderSpecRegistered'>): Row<typeof tables.renderSpecs> {
  return { renderSpecId: data.renderSpecId, spec: data.spec };
}

export function runSpecRow({ data, occurredAt }: Envelope<'RenderSpecRegistered'>): Row<typeof tables.runRenderSpecs> {
  return { runId: data.runId, renderSpecId: data.renderSpecId, profile: data.profile, registeredAt: occurredAt };
}

export function segmentRow({ data, correlationId, occurredAt }: Envelope<'SegmentRendered'>): Row<typeof tables.segments> {
  return {
    segmentId: data.segmentId,
    renderSpecId: data.renderSpecId,
    text: typeof data.text === 'string' ? data.text : '',
    lines: data.lines,
    width: data.width,
    height: data.height,
    rgb: data.rgb,
    cutLines: data.cutLines,
    outside: data.outside,
    unshaped: data.unshaped,
    runId: correlationId,
    renderedAt: occurredAt,
    blobs: typeof data.text === 'string' ? null : { text: data.text },
  };
}

export function historyRow(
  { event, offset }: Delivery<Envelope<'HistoryRendered'>>,
  length: number,
): Row<typeof tables.historyImages> {
  const { data } = event;
  const { raw, resized, bordered, model } = data.sizes;
  return {
    stepId: data.stepId,
    treeId: data.treeId,
    runId: event.correlationId,
    renderSpecId: data.renderSpecId,
    prefixStepId: data.prefix?.stepId ?? null,
    prefixFrom: data.prefix?.from ?? 0,
    prefixTo: data.prefix?.to ?? 0,
    segments: data.segments,
    length,
    history: data.history,
    missed: data.cache.missed,
    factor: data.factor,
    factorChosenBy: data.factorChosenBy,
    rawWidth: raw.width,
    rawHeight: raw.height,
    resizedWidth: resized.width,
    resizedHeight: resized.height,
    width: bordered.width,
    height: bordered.height,
    modelWidth: model.width,
    modelHeight: model.height,
    visionTokens: data.visionTokens.count,
    visionPreset: data.visionTokens.preset,
    textTokens: data.textTokens.count,
    tokenizer: data.textTokens.tokenizer,
    imageId: data.imageId,
    cutSegments: data.cut.segments,
    cutLines: data.cut.lines,
    outside: data.outside,
    unshaped: data.unshaped,
    renderMs: data.timings.renderMs,
    renderedAt: event.occurredAt,
    logOffset: offset,
  };
}
