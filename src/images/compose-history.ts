import { type VisibleHistory, visibleHistory } from './choose-shown.ts';
import type { HistoryKind, HistorySizes, Size } from './history-sizes.ts';
import { imageId } from './image-id.ts';
import { type PassOrder, type RgbImage, type RgbRows, resizeLanczos } from './lanczos.ts';
import type { RenderSpec } from './render-spec.ts';
import { type RenderedSegment, writeSegment } from './rendered-segment.ts';
import { vectorLoops } from './resize/vector-loops.ts';
import { resizeRows } from './resize-rows.ts';
import { openSegmentRows, pushSegmentRows } from './segment-rows.ts';

/** A history as an image. Its pixels are made when they are asked for: to know what an image costs takes none. */
export interface HistoryImage extends HistorySizes {
  /** Of the image that a model is shown: `bordered`. */
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
  /** Returns the pixels without a copy where there can be one: they hold until the next history of the same renderer is drawn. */
  view(): Uint8Array;
  readonly imageId: string;
  readonly cut: VisibleHistory['cut'];
  readonly outside: number;
  readonly unshaped: number;
}

/**
 * Stacks segments, resizes them by 1 / sqrt(factor) and puts the border around (specification §1.7, §1.8). Without a segment the
 * history is `absent` (nothing yet) unless it is said to be `blank`. @throws RenderRefused for a bad factor or a history that is
 * too tall.
 */
export function composeHistory(
  spec: RenderSpec,
  segments: readonly RenderedSegment[],
  factor: number,
  empty: Exclude<HistoryKind, 'segments'> = 'absent',
): HistoryImage {
  const shown = visibleHistory(spec, segments, factor, segments.length > 0 ? 'segments' : empty);
  return lazyImage(shown, () => paint(spec, shown));
}

/** Makes an image whose pixels and name are computed once, when asked for. */
export function lazyImage(
  { sizes, cut, outside, unshaped }: VisibleHistory,
  pixels: () => Uint8Array,
  view?: () => Uint8Array,
): HistoryImage {
  let rgb: Uint8Array | undefined;
  let id: string | undefined;
  return {
    ...sizes,
    ...sizes.bordered,
    cut,
    outside,
    unshaped,
    get rgb() {
      rgb ??= pixels();
      return rgb;
    },
    view() {
      return rgb ?? view?.() ?? this.rgb;
    },
    get imageId() {
      id ??= imageId(sizes.bordered.width, sizes.bordered.height, this.view());
      return id;
    },
  };
}

/** Draws what is shown, from its segments alone. */
export function paint(spec: RenderSpec, history: VisibleHistory): Uint8Array {
  const { sizes, segments } = history;
  const { raw, resized, bordered } = sizes;
  if (resized.width !== raw.width || resized.height !== raw.height) return paintResized(spec, history);
  const rgb = new Uint8Array(bordered.width * bordered.height * 3).fill(255);
  stack(segments, rgb, (spec.border * bordered.width + spec.border) * 3, bordered.width * 3);
  return rgb;
}

function paintResized(spec: RenderSpec, { sizes, segments }: VisibleHistory): Uint8Array {
  const { raw, resized, bordered } = sizes;
  const loops = vectorLoops();
  if (loops && raw.width > 0 && raw.height > 0) {
    const rows = openSegmentRows(raw.width, widthOfRows(spec, sizes));
    pushSegmentRows(rows, segments, loops);
    const rgb = new Uint8Array(bordered.width * bordered.height * 3);
    if (resizeRows(rows, sizes, spec.border, rgb, loops)) return rgb;
  }
  return frame(spec, sizes, resizeLanczos(stackAlone(segments, raw), resized.width, resized.height, passOrder(spec, sizes)));
}

/** Chooses the width at which rows are kept for a resize: that of the result where the pass over columns comes first. */
export function widthOfRows(spec: RenderSpec, sizes: HistorySizes): number {
  return passOrder(spec, sizes) === 'columns-first' ? sizes.resized.width : sizes.raw.width;
}

/** Pillow from 13 on begins with the rows where it takes away more than twice as many of them as columns. */
function passOrder({ resize: { passes } }: RenderSpec, { raw, resized }: HistorySizes): PassOrder {
  const [columns, rows] = [raw.width - resized.width, raw.height - resized.height];
  return passes === 'pillow-13' && rows > 0 && rows > columns * 2 ? 'rows-first' : 'columns-first';
}

/** Puts the border around a resized image. */
function frame({ border }: RenderSpec, { bordered }: HistorySizes, { width, height, rgb: inside }: RgbImage): Uint8Array {
  const rgb = new Uint8Array(bordered.width * bordered.height * 3).fill(255);
  for (let y = 0; y < height; y++) {
    rgb.set(inside.subarray(y * width * 3, (y + 1) * width * 3), ((border + y) * bordered.width + border) * 3);
  }
  return rgb;
}

function stackAlone(segments: readonly RenderedSegment[], { width, height }: Size): RgbRows {
  const rgb = new Uint8Array(width * height * 3).fill(255);
  stack(segments, rgb, 0, width * 3);
  return { width, height, rgb, at: 0, stride: width * 3 };
}

function stack(segments: readonly RenderedSegment[], rgb: Uint8Array, at: number, stride: number): void {
  let to = at;
  for (const segment of segments) {
    writeSegment(segment, rgb, to, stride);
    to += segment.height * stride;
  }
}
