import { blendRun, maskRun, type RunMask } from './draw-ink.ts';
import { drawBlack, type Plane, type Stamps, stampsFor } from './draw-run.ts';
import { findRuns, type InkRun } from './find-runs.ts';
import { toCells } from './prepare-text.ts';
import type { RenderSpec } from './render-spec.ts';
import type { Patch, RenderedSegment } from './rendered-segment.ts';
import { wrapText } from './wrap-text.ts';

/**
 * Draws a segment (specification §1.5). The same spec and text give the same bytes on every machine: there is no floating-point
 * number in it.
 */
export function renderSegment(spec: RenderSpec, text: string): RenderedSegment {
  const { text: cells, outside, unshaped } = toCells(text, spec);
  const limit = spec.layout.charactersPerLine;
  const wrapped =
    spec.text.segments === 'whole' ? cells.split('\n').flatMap((line) => wrapText(line, limit)) : wrapText(cells, limit);
  const { lineHeight } = spec.layout;
  const fits = Math.floor(spec.limits.segmentHeight / lineHeight);
  const marked = wrapped.length > fits && spec.limits.segmentOverflow === 'mark';
  const shown = wrapped.length > fits ? wrapped.slice(0, marked ? fits - 1 : fits) : wrapped;
  const cutLines = wrapped.length - shown.length;
  const lines = shown.map((line) => findRuns(line, spec.inks));
  if (marked) lines.push([{ start: 0, text: `[${cutLines} more lines are not shown]`, ink: spec.inks.mark }]);
  // The published canvas is as high as all lines would be, up to the limit: where lines are cut, some rows below the last stay
  // white.
  const height = wrapped.length > fits && !marked ? spec.limits.segmentHeight : lines.length * lineHeight;
  return { ...draw(spec, lines, height), lines: lines.length, cutLines, outside, unshaped };
}

/** Draws one line in the ink of marks, as a segment of its own. */
export function renderMark(spec: RenderSpec, text: string): RenderedSegment {
  const lines = wrapText(text, spec.layout.charactersPerLine).map((line) => [{ start: 0, text: line, ink: spec.inks.mark }]);
  return {
    ...draw(spec, lines, lines.length * spec.layout.lineHeight),
    lines: lines.length,
    cutLines: 0,
    outside: 0,
    unshaped: 0,
  };
}

type Drawing = Omit<RenderedSegment, 'lines' | 'cutLines' | 'outside' | 'unshaped'>;

function draw(spec: RenderSpec, lines: readonly (readonly InkRun[])[], height: number): Drawing {
  const { width, lineHeight } = spec.layout;
  const stamps = stampsFor(spec);
  const coloured = lines.some((line) => line.some(({ ink }) => !isBlack(ink)));
  const green = whitePlane(1, width, height);
  const planes: [Plane, Plane, Plane] = coloured
    ? [whitePlane(0, width, height), green, whitePlane(2, width, height)]
    : [green, green, green];
  const boxes: RunMask[] = [];
  const ends = new Uint16Array(Math.ceil(height / lineHeight));
  for (const [i, runs] of lines.entries()) drawLine(planes, stamps, runs, i * lineHeight, boxes);
  for (const [i, runs] of lines.entries()) {
    const last = runs.at(-1);
    // 3: no glyph is wider than two advances
    const end = last ? Math.min(width, ((stamps.advance * (last.start + last.text.length)) >> 6) + 3) : 0;
    for (const band of [i - 1, i, i + 1]) if (band in ends) ends[band] = Math.max(ends[band] ?? 0, end);
  }
  const patches = boxes.flatMap((box) => cutPatch(planes, box));
  return { width, height, bandHeight: lineHeight, ends, grey: pack(green, ends, lineHeight), patches };
}

/** One per channel, kept between segments: fresh ones would be most of what a drawn segment leaves to the garbage collector. */
const scratch = [new Uint8Array(), new Uint8Array(), new Uint8Array()];

function whitePlane(channel: 0 | 1 | 2, width: number, height: number): Plane {
  let bytes = scratch[channel];
  if (!bytes || bytes.length < width * height) {
    bytes = new Uint8Array(width * height * 2);
    scratch[channel] = bytes;
  }
  bytes.fill(255, 0, width * height);
  return { bytes, width, height };
}

function drawLine(
  planes: readonly [Plane, Plane, Plane],
  stamps: Stamps,
  runs: readonly InkRun[],
  y: number,
  boxes: RunMask[],
): void {
  const [red, green, blue] = planes;
  for (const { start, text, ink } of runs) {
    const x = (stamps.advance * start) >> 6;
    if (!isBlack(ink)) {
      const run = maskRun(stamps, text, x, y);
      blendRun(planes, run, ink);
      boxes.push(run);
      continue;
    }
    drawBlack(green, stamps, text, x, y);
    if (red === green) continue;
    // Red and blue are looked at under coloured runs only; two cells of a plain run reach into its neighbour, or all where a
    // glyph leaves its line.
    const only = PLAIN.test(text) ? (runs.length > 1 ? 2 : 0) : text.length;
    drawBlack(red, stamps, text, x, y, only);
    drawBlack(blue, stamps, text, x, y, only);
  }
}

/** No ASCII glyph leaves the box of its line. */
const PLAIN = /^[\x20-\x7e]*$/;

function isBlack(ink: InkRun['ink']): boolean {
  return ink[0] === 0 && ink[1] === 0 && ink[2] === 0;
}

/** Moves what is kept of a plane together, and returns it. The plane is not used after. */
function pack({ bytes, width, height }: Plane, ends: Uint16Array, bandHeight: number): Uint8Array {
  let to = 0;
  for (let y = 0; y < height; y++) {
    const end = ends[(y / bandHeight) | 0] ?? 0;
    bytes.copyWithin(to, y * width, y * width + end);
    to += end;
  }
  return bytes.slice(0, to);
}

function cutPatch(planes: readonly [Plane, Plane, Plane], box: RunMask): Patch[] {
  const { width: across, height: down } = planes[1];
  const [x, y] = [Math.max(0, box.left), Math.max(0, box.top)];
  const [width, height] = [Math.min(across, box.left + box.width) - x, Math.min(down, box.top + box.height) - y];
  if (width <= 0 || height <= 0) return [];
  const rgb = new Uint8Array(width * height * 3);
  const [red, green, blue] = [planes[0].bytes, planes[1].bytes, planes[2].bytes];
  for (let row = 0, to = 0; row < height; row++) {
    for (let at = (y + row) * across + x, end = at + width; at < end; at++, to += 3) {
      rgb[to] = red[at] as number; // the box was clipped to the planes
      rgb[to + 1] = green[at] as number;
      rgb[to + 2] = blue[at] as number;
    }
  }
  return [{ x, y, width, height, rgb }];
}
