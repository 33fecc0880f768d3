import { chooseShown, type Shown } from './choose-shown.ts';
import type { HistoryKind, HistorySizes, Size } from './history-sizes.ts';
import { imageId } from './image-id.ts';
import { type RgbRows, resizeLanczos } from './lanczos.ts';
import type { RenderSpec } from './render-spec.ts';
import { type RenderedSegment, writeSegment } from './rendered-segment.ts';

/** A history as an image. Its pixels are made when they are asked for: to know what an image costs takes none. */
export interface HistoryImage extends HistorySizes {
  /** Of the image that a model is shown: `bordered`. */
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
  /** Returns the pixels without a copy where there can be one: they hold until the next history of the same renderer is drawn. */
  view(): Uint8Array;
  readonly imageId: string;
  readonly cut: Shown['cut'];
  readonly outside: number;
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
  const shown = chooseShown(spec, segments, factor, segments.length > 0 ? 'segments' : empty);
  return lazyImage(shown, () => paint(spec, shown));
}

/** Makes an image whose pixels and name are computed once, when asked for. */
export function lazyImage({ sizes, cut, outside }: Shown, pixels: () => Uint8Array, view?: () => Uint8Array): HistoryImage {
  let rgb: Uint8Array | undefined;
  let id: string | undefined;
  return {
    ...sizes,
    ...sizes.bordered,
    cut,
    outside,
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
export function paint(spec: RenderSpec, { sizes, segments }: Shown): Uint8Array {
  const { raw, resized, bordered } = sizes;
  if (resized.width !== raw.width || resized.height !== raw.height) return frameResized(spec, sizes, stackAlone(segments, raw));
  const rgb = new Uint8Array(bordered.width * bordered.height * 3).fill(255);
  stack(segments, rgb, (spec.border * bordered.width + spec.border) * 3, bordered.width * 3);
  return rgb;
}

/** Resizes stacked rows and puts the border around. */
export function frameResized(spec: RenderSpec, { resized, bordered }: HistorySizes, rows: RgbRows): Uint8Array {
  const rgb = new Uint8Array(bordered.width * bordered.height * 3).fill(255);
  const { width, height, rgb: inside } = resizeLanczos(rows, resized.width, resized.height);
  for (let y = 0; y < height; y++) {
    rgb.set(inside.subarray(y * width * 3, (y + 1) * width * 3), ((spec.border + y) * bordered.width + spec.border) * 3);
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
