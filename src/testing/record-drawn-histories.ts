import type { DataOf } from '../events/catalogue.ts';
import { type DrawnSegment, HistoryRenderer, type RenderedHistory } from '../images/history-renderer.ts';
import { splitSegments } from '../images/prepare-text.ts';
import { renderSpec } from '../images/render-profiles.ts';
import { type RenderProfile, type RenderSpec, renderSpecId } from '../images/render-spec.ts';
import { segmentDigest } from '../images/segment-digest.ts';
import { type VisionTokens, visionTokens } from '../images/vision-tokens.ts';
import type { EventBuilder } from './event-builder.ts';

/** What the steps of a rollout were shown, and what they were shown it by. */
export interface DrawnHistories {
  readonly renderSpecId: string;
  /** The image id of each step. */
  readonly imageIds: readonly string[];
  /** The segments of the last step, in order. */
  readonly segmentIds: readonly string[];
}

/** Records histories that were really drawn: step i was shown the records before it, and the step before chose its factor. */
export function recordDrawnHistories(
  builder: EventBuilder,
  tree: { readonly treeId: string; readonly runId: string },
  steps: readonly string[],
  { records, factors = [], profile = 'agentocr-alfworld' }: DrawnOptions,
): DrawnHistories {
  const spec = renderSpec(profile);
  const registered = renderSpecRegistered(tree.runId, spec);
  builder.record('RenderSpecRegistered', registered, tree.runId);
  const renderer = new HistoryRenderer(spec);
  const imageIds: string[] = [];
  const recorded = new Set<string>();
  let before: { stepId: string; segments: readonly string[] } | null = null;
  for (const [i, stepId] of steps.entries()) {
    const segments = splitSegments(records.slice(0, i).join('\n'), spec);
    const factor = factors[i] ?? 1;
    const rendered = renderer.render({ segments, factor });
    for (const drawn of rendered.segments) {
      if (!recorded.has(drawn.id)) builder.record('SegmentRendered', segmentRendered(spec, drawn), tree.runId);
      recorded.add(drawn.id);
    }
    const { width, height } = rendered.image;
    const data = historyRendered({
      treeId: tree.treeId,
      stepId,
      spec,
      rendered,
      empty: 'absent',
      factor,
      before,
      vision: visionTokens(width, height),
      factorChosenBy: factor === 1 ? null : (steps[i - 1] ?? null),
      renderMs: 1,
      textTokens: { count: segments.join('\n').split(/\s+/).length, tokenizer: 'words' },
    });
    builder.record('HistoryRendered', data, tree.runId);
    before = { stepId, segments: rendered.segments.map(({ id }) => id) };
    imageIds.push(data.imageId);
  }
  return { renderSpecId: registered.renderSpecId, imageIds, segmentIds: before?.segments ?? [] };
}

export interface DrawnOptions {
  readonly records: readonly string[];
  readonly factors?: readonly number[];
  readonly profile?: RenderProfile;
}

/** Records that a run draws histories by a spec. */
function renderSpecRegistered(runId: string, spec: RenderSpec): DataOf<'RenderSpecRegistered'> {
  return { runId, renderSpecId: renderSpecId(spec), profile: spec.profile, spec };
}

/** Describes how a segment was drawn. Every process that draws it says the same. */
function segmentRendered(spec: RenderSpec, { id, text, segment }: Omit<DrawnSegment, 'hit'>): DataOf<'SegmentRendered'> {
  const { lines, width, height, cutLines, outside, unshaped } = segment;
  return {
    segmentId: id,
    renderSpecId: renderSpecId(spec),
    text,
    lines,
    width,
    height,
    rgb: segmentDigest(segment),
    cutLines,
    outside,
    unshaped,
  };
}

/** A history as the prompt of a step showed it. */
interface ShownHistory {
  readonly treeId: string;
  /** The step that was taken from this prompt. */
  readonly stepId: string;
  readonly spec: RenderSpec;
  readonly rendered: RenderedHistory;
  /** What a history without a segment was, as the renderer received it. */
  readonly empty: 'blank' | 'absent';
  readonly factor: number;
  readonly factorChosenBy: string | null;
  /** The step above that was shown a history last, and the ids of the segments of that history. */
  readonly before: { readonly stepId: string; readonly segments: readonly string[] } | null;
  readonly vision: VisionTokens;
  readonly textTokens: { readonly count: number; readonly tokenizer: string };
  readonly renderMs: number;
}

/** Describes what a step was shown. What the step above was shown is named, not repeated. */
function historyRendered(history: ShownHistory): DataOf<'HistoryRendered'> {
  const { treeId, stepId, spec, factor, factorChosenBy, vision, textTokens, renderMs } = history;
  const { image, segments: drawn } = history.rendered;
  const ids = drawn.map(({ id }) => id);
  const { prefix, segments } = splitPrefix(history.before, ids);
  return {
    treeId,
    stepId,
    renderSpecId: renderSpecId(spec),
    prefix,
    segments,
    factor,
    factorChosenBy,
    imageId: image.imageId,
    history: ids.length > 0 ? 'segments' : history.empty,
    sizes: { raw: image.raw, resized: image.resized, bordered: image.bordered, model: vision.model },
    visionTokens: { count: vision.tokens, preset: vision.preset },
    textTokens,
    cut: image.cut,
    outside: image.outside,
    unshaped: image.unshaped,
    cache: { missed: drawn.flatMap(({ hit }, place) => (hit ? [] : [place])) },
    timings: { renderMs },
  };
}

/**
 * Finds the longest end of the history before with which this one begins: all of it as a history grows, less as a window slides.
 */
function splitPrefix(
  before: ShownHistory['before'],
  ids: readonly string[],
): Pick<DataOf<'HistoryRendered'>, 'prefix' | 'segments'> {
  const to = before?.segments.length ?? 0;
  for (let from = Math.max(0, to - ids.length); before && from < to; from++) {
    if (!before.segments.slice(from).every((id, i) => id === ids[i])) continue;
    return { prefix: { stepId: before.stepId, from, to }, segments: ids.slice(to - from) };
  }
  return { prefix: null, segments: [...ids] };
}
