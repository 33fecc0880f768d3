import { setImmediate } from 'node:timers/promises';
import { historySizes, type Size } from '../../images/history-sizes.ts';
import { legibility } from '../../images/legibility.ts';
import { type RenderedSegment, writeSegment } from '../../images/rendered-segment.ts';
import { VISION_PRESETS, visionPreset, visionTokens } from '../../images/vision-tokens.ts';
import { type DrawingWorld, drawRecordedSegments, readDrawableSpec, type UndrawnSegments } from './draw-recorded-segments.ts';
import type { HistoryImageRecord } from './read-history-images.ts';
import { readHistory } from './read-segments.ts';

/** The history of a step as an image at one compression factor. */
export interface HistoryAtFactor extends Size {
  readonly imageId: string;
  readonly factor: number;
  /** Whether the step was shown it at this factor. */
  readonly shown: boolean;
  readonly visionTokens: number;
  readonly textTokens: number;
  /** How tall a line of text is for the model, px; null where the history has no text. */
  readonly linePixels: number | null;
  /** How much of the strokes is left, from 0 to 1; null where the history has no text. */
  readonly legibility: number | null;
}

const MEASURED_ROWS = 400; // of the newest segments: a factor takes about 40 ms of them
const MEASURED_SEGMENTS = 40; // none is lower than a line

/**
 * Works out what the history of a step costs at other factors, and how legible it would be: sizes and tokens as they are computed
 * when it is shown, legibility over the newest rows that were drawn. Vision presets that this program does not have count as the
 * default. @throws RenderRefused for a factor below 1.
 */
export async function historyAtFactors(
  world: DrawingWorld,
  record: HistoryImageRecord,
  factors: readonly number[],
): Promise<{ readonly kind: 'factors'; readonly factors: readonly HistoryAtFactor[] } | UndrawnSegments> {
  const read = await readDrawableSpec(world.db, record.renderSpecId);
  if (read.kind === 'damaged') return read;
  const { spec } = read;
  const newest = (await readHistory(world.db, record)).slice(-MEASURED_SEGMENTS);
  const recordedSegments = await drawRecordedSegments(world, spec, [...new Set(newest)]);
  if (recordedSegments.kind !== 'drawn') return recordedSegments;
  const rows = stackNewest(newest.flatMap((id) => recordedSegments.segments.get(id) ?? []));
  const preset = visionPreset(record.visionPreset) ?? VISION_PRESETS['qwen2.5-vl'];
  const found: HistoryAtFactor[] = [];
  for (const factor of factors) {
    await setImmediate(); // others are answered between two of them
    const { raw, resized, bordered } = historySizes(spec, record.history, record.raw.height, factor);
    const { tokens, model } = visionTokens(bordered.width, bordered.height, preset);
    const [across, down] = [resized.width / raw.width, resized.height / raw.height];
    const size = rows && { width: Math.round(rows.width * across), height: Math.round(rows.height * down) };
    found.push({
      imageId: record.id,
      factor,
      shown: factor === record.factor,
      ...bordered,
      visionTokens: tokens,
      textTokens: record.textTokens,
      linePixels: rows && (spec.layout.lineHeight * down * model.height) / bordered.height,
      legibility: rows && size && legibility(rows, size),
    });
  }
  return { kind: 'factors', factors: found };
}

/** Stacks the newest segments that fit, one at least; null without one. */
function stackNewest(segments: readonly RenderedSegment[]) {
  let height = 0;
  const fitting: RenderedSegment[] = [];
  for (const segment of segments.toReversed()) {
    if (fitting.length > 0 && height + segment.height > MEASURED_ROWS) break;
    fitting.unshift(segment);
    height += segment.height;
  }
  const width = fitting[0]?.width ?? 0;
  if (height === 0 || width === 0) return null;
  const stride = width * 3;
  const rgb = new Uint8Array(height * stride).fill(255);
  let at = 0;
  for (const segment of fitting) {
    writeSegment(segment, rgb, at, stride);
    at += segment.height * stride;
  }
  return { width, height, rgb, at: 0, stride };
}
