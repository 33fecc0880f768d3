import { div255, type Plane, type Stamps } from './draw-run.ts';
import type { Ink } from './render-spec.ts';

/** The coverage of a run, in the box that its glyphs take. */
export interface RunMask {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly mask: Uint8Array;
}

/**
 * Highlighted literals come again in nearly every record, so their coverage is kept; it does not depend on where the pen starts.
 */
const kept = new WeakMap<Stamps, Map<string, RunMask>>();
const MOST_KEPT = 256;

/** Lays the glyphs of a run over each other: m' = s + div255(m * (255 - s)). Its pen starts at (x, y). */
export function maskRun(stamps: Stamps, text: string, x: number, y: number): RunMask {
  let masks = kept.get(stamps);
  if (!masks || masks.size >= MOST_KEPT) {
    masks = new Map();
    kept.set(stamps, masks);
  }
  let mask = masks.get(text);
  if (!mask) {
    mask = layGlyphs(stamps, text);
    masks.set(text, mask);
  }
  return { ...mask, left: mask.left + x, top: mask.top + y };
}

function layGlyphs(stamps: Stamps, text: string): RunMask {
  const placed = [];
  let [pen, left, top, right, bottom] = [32, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const glyph = stamps.of(text.charCodeAt(i))?.glyph;
    if (!glyph) continue;
    const at = { glyph, x: (pen >> 6) + glyph.x, y: glyph.y };
    pen += stamps.advance;
    if (glyph.height === 0) continue;
    placed.push(at);
    left = Math.min(left, at.x);
    top = Math.min(top, at.y);
    right = Math.max(right, at.x + glyph.width);
    bottom = Math.max(bottom, at.y + glyph.height);
  }
  if (placed.length === 0) return { left: 0, top: 0, width: 0, height: 0, mask: new Uint8Array() };
  const [width, height] = [right - left, bottom - top];
  const mask = new Uint8Array(width * height);
  for (const { glyph, x: gx, y: gy } of placed) {
    for (let row = 0; row < glyph.height; row++) {
      for (let column = 0; column < glyph.width; column++) {
        const s = glyph.mask[row * glyph.width + column] ?? 0;
        const at = (gy - top + row) * width + gx - left + column;
        mask[at] = s + div255((mask[at] ?? 0) * (255 - s));
      }
    }
  }
  return { left, top, width, height, mask };
}

/** Blends a run's coverage in one ink into planes of red, green and blue, and clips it to them. */
export function blendRun(planes: readonly [Plane, Plane, Plane], run: RunMask, ink: Ink): void {
  for (let channel = 0; channel < 3; channel++) {
    const plane = planes[channel] as Plane; // three of them
    if (planes.indexOf(plane) === channel) blendChannel(plane, run, ink[channel] ?? 0); // a grey picture is one plane thrice
  }
}

function blendChannel({ bytes, width: across, height: down }: Plane, run: RunMask, value: number): void {
  const { left, top, width, height, mask } = run;
  const [x0, x1] = [Math.max(0, -left), Math.min(width, across - left)];
  const [y0, y1] = [Math.max(0, -top), Math.min(height, down - top)];
  for (let y = y0; y < y1; y++) {
    const row = (top + y) * across + left;
    for (let x = x0; x < x1; x++) {
      const m = mask[y * width + x] as number; // x < width, y < height
      if (m === 0) continue;
      const under = bytes[row + x] as number; // clipped to the plane above
      if (under === value) continue; // white stays white under a channel that is 255
      bytes[row + x] = div255(m * value + (255 - m) * under);
    }
  }
}
