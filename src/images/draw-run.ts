import { type Glyph, glyphAtlas } from './glyph-atlas.ts';
import { ASTRAL_CELL, astralCode, BOX_CELL, ESCAPE_CELL, INVISIBLE_CELL } from './prepare-text.ts';
import type { RenderSpec } from './render-spec.ts';

/** One channel of a picture of `height` rows, white at first. */
export interface Plane {
  readonly bytes: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/**
 * A glyph as places relative to the pen in a plane of one width, with what is left of white there. Faster than masks: two thirds
 * of a mask are empty.
 */
export interface Stamp {
  readonly glyph: Glyph;
  readonly offsets: Int32Array;
  readonly left: Uint8Array;
}

/** The stamps of a spec's font for planes of its width. */
export interface Stamps {
  readonly advance: number;
  /** Returns the stamp of a cell; undefined for one that neither is drawn nor advances. */
  of(cell: number): Stamp | undefined;
}

const stampsBySpec = new WeakMap<RenderSpec, Stamps>();

/** Returns the stamps for a spec. Makes each when it is first asked for. */
export function stampsFor(spec: RenderSpec): Stamps {
  let stamps = stampsBySpec.get(spec);
  if (!stamps) {
    stamps = makeStamps(spec);
    stampsBySpec.set(spec, stamps);
  }
  return stamps;
}

function makeStamps(spec: RenderSpec): Stamps {
  const atlas = glyphAtlas(spec.font.px);
  if (atlas.sha256 !== spec.font.atlas || atlas.advance !== spec.layout.advance) {
    throw new Error(`the render spec was made with glyphs ${spec.font.atlas}; this version has ${atlas.sha256}`);
  }
  const blank: Glyph = { x: 0, y: 0, width: 0, height: 0, mask: new Uint8Array() };
  const made: (Stamp | undefined)[] = [];
  const glyphOf = (cell: number): Glyph => {
    if (cell >= ASTRAL_CELL && cell < 0xf900) return atlas.glyphs.get(astralCode(cell, spec.font.px) ?? -1) ?? atlas.box;
    if (cell >= ESCAPE_CELL && cell < ASTRAL_CELL) return atlas.glyphs.get(cell - ESCAPE_CELL) ?? atlas.box;
    if (cell === BOX_CELL) return atlas.box;
    return atlas.glyphs.get(cell) ?? (cell === 0x3000 ? blank : atlas.box);
  };
  return {
    advance: atlas.advance,
    of(cell) {
      if (cell === INVISIBLE_CELL) return undefined;
      let stamp = made[cell];
      if (!stamp) {
        stamp = makeStamp(glyphOf(cell), spec.layout.width);
        made[cell] = stamp;
      }
      return stamp;
    },
  };
}

function makeStamp(glyph: Glyph, stride: number): Stamp {
  const places = Array.from(glyph.mask.keys()).filter((i) => glyph.mask[i] !== 0);
  const offset = (i: number) => (glyph.y + Math.floor(i / glyph.width)) * stride + glyph.x + (i % glyph.width);
  return {
    glyph,
    offsets: Int32Array.from(places, offset),
    left: Uint8Array.from(places, (i) => 255 - (glyph.mask[i] ?? 0)),
  };
}

/** Rounds t / 255 to the nearest, for t up to 65,025. */
export function div255(t: number): number {
  const u = t + 128;
  return ((u >> 8) + u) >> 8;
}

/**
 * Draws a run of black cells at (x, y): what is left of white is multiplied. That is also what comes out when the glyphs of a run
 * are first laid over each other and then blended, since rounding t / 255 never meets a tie and so 255 - div255(t) = div255(255 *
 * 255 - t), as long as the run begins on white.
 * @param only draws no more than so many cells at each end.
 */
export function drawBlack(plane: Plane, stamps: Stamps, text: string, x: number, y: number, only = text.length): void {
  const { bytes, width, height } = plane;
  let pen = 32; // 26.6, with the half that rounds
  for (let i = 0; i < text.length; i++) {
    const stamp = stamps.of(text.charCodeAt(i));
    if (!stamp) continue;
    if (i >= only && i < text.length - only) {
      pen += stamps.advance;
      continue;
    }
    const left = x + (pen >> 6);
    pen += stamps.advance;
    const { glyph, offsets, left: remains } = stamp;
    if (left + glyph.x < 0 || left + glyph.x + glyph.width > width || y + glyph.y < 0 || y + glyph.y + glyph.height > height) {
      drawClipped(plane, stamp, left, y);
      continue;
    }
    const base = y * width + left;
    for (let k = 0; k < offsets.length; k++) {
      const at = base + (offsets[k] as number); // k < length
      const under = bytes[at] as number; // inside, as the box was compared with the plane
      const over = remains[k] as number; // as long as offsets
      bytes[at] = under === 255 ? over : div255(under * over);
    }
  }
}

function drawClipped({ bytes, width, height }: Plane, { glyph }: Stamp, left: number, top: number): void {
  for (let row = 0; row < glyph.height; row++) {
    const y = top + glyph.y + row;
    if (y < 0 || y >= height) continue;
    for (let column = 0; column < glyph.width; column++) {
      const x = left + glyph.x + column;
      if (x < 0 || x >= width) continue;
      const at = y * width + x;
      bytes[at] = div255((bytes[at] ?? 0) * (255 - (glyph.mask[row * glyph.width + column] ?? 0)));
    }
  }
}
