import { sha256Hex } from '../digest/sha256.ts';
import { canonicalJson } from '../events/canonical-json.ts';
import type { DataOf } from '../events/catalogue.ts';
import type { EventBuilder } from './event-builder.ts';

/** Records that a run draws histories by a spec; returns the spec's id. */
export function recordRenderSpec(builder: EventBuilder, runId: string, spec: object = { px: 10 }, profile = 'crisp'): string {
  const renderSpecId = sha256Hex(canonicalJson(spec));
  builder.record('RenderSpecRegistered', { runId, renderSpecId, profile, spec }, runId);
  return renderSpecId;
}

/**
 * Records that a segment of history was drawn; returns the segment's id. Its measures are made up from its text unless
 * overridden.
 */
export function recordSegment(
  builder: EventBuilder,
  runId: string,
  renderSpecId: string,
  text: string,
  overrides: Partial<DataOf<'SegmentRendered'>> = {},
): string {
  const segmentId = sha256Hex(`seg\0${renderSpecId}\0${text}`);
  const drawn = { lines: 1, width: 392, height: 12, rgb: sha256Hex(`pixels of ${text}`), cutLines: 0, outside: 0, unshaped: 0 };
  builder.record('SegmentRendered', { segmentId, renderSpecId, text, ...drawn, ...overrides }, runId);
  return segmentId;
}

/** Records that the prompt of a step showed its history as an image; what the test does not say is made up. */
export function recordHistory(
  builder: EventBuilder,
  tree: { readonly treeId: string; readonly runId: string },
  shown: Pick<DataOf<'HistoryRendered'>, 'stepId' | 'renderSpecId' | 'segments'> & Partial<DataOf<'HistoryRendered'>>,
): void {
  const size = { width: 392, height: 12 * shown.segments.length };
  const data: DataOf<'HistoryRendered'> = {
    treeId: tree.treeId,
    prefix: null,
    history: shown.segments.length > 0 || (shown.prefix && shown.prefix.from < shown.prefix.to) ? 'segments' : 'absent',
    factor: 1,
    factorChosenBy: null,
    sizes: { raw: size, resized: size, bordered: size, model: size },
    visionTokens: { count: 14, preset: 'qwen2.5-vl' },
    textTokens: { count: 20, tokenizer: 'o200k_base' },
    imageId: sha256Hex(`image of ${shown.stepId}`),
    cut: { segments: 0, lines: 0 },
    outside: 0,
    unshaped: 0,
    cache: { missed: [] },
    timings: { renderMs: 1 },
    ...shown,
  };
  builder.record('HistoryRendered', data, tree.runId);
}
