/**
 * The pixels of a segment, compact: one byte a pixel where red, green and blue are equal, and rectangles of RGB where they are
 * not. Each band of `bandHeight` rows (the last may be lower) is kept up to its last column with ink; what lies behind is white.
 * About 0.3 of RGB.
 */
export interface RenderedSegment {
  readonly width: number;
  readonly height: number;
  /** Lines that are drawn. */
  readonly lines: number;
  /** Lines that the height limit left out. */
  readonly cutLines: number;
  /** Characters that the atlas does not hold: drawn as boxes or written out, as the spec says. */
  readonly outside: number;
  /** Characters that the published renderer may draw otherwise, since it shapes them; 0 where the spec writes them out. */
  readonly unshaped: number;
  readonly bandHeight: number;
  readonly ends: Uint16Array;
  /** The bands one after the other, each row by row. */
  readonly grey: Uint8Array;
  readonly patches: readonly Patch[];
}

/** A rectangle of RGB that lies over the grey. */
export interface Patch {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

/** Returns the pixels of a segment: width * height * 3 bytes, row by row. */
export function segmentRgb(segment: RenderedSegment): Uint8Array {
  const rgb = new Uint8Array(segment.width * segment.height * 3).fill(255);
  writeSegment(segment, rgb, 0, segment.width * 3);
  return rgb;
}

/**
 * Writes the pixels of a segment over white in an RGB picture: its first row at byte `at`, each next one `stride` bytes further.
 */
export function writeSegment(segment: RenderedSegment, rgb: Uint8Array, at: number, stride: number): void {
  const { height, ends, grey, bandHeight } = segment;
  let from = 0;
  for (let y = 0; y < height; y++) {
    const end = ends[(y / bandHeight) | 0] as number; // a band for each row
    let to = at + y * stride;
    for (const last = from + end; from < last; from++, to += 3) {
      const value = grey[from] as number; // the band holds `end` bytes a row
      if (value === 255) continue; // three in four
      rgb[to] = value;
      rgb[to + 1] = value;
      rgb[to + 2] = value;
    }
  }
  writePatches(segment, rgb, at, stride);
}

/** Writes what has colour: by bytes, since a view of each row would be most of what is left to the garbage collector. */
export function writePatches({ patches }: RenderedSegment, rgb: Uint8Array, at: number, stride: number): void {
  for (const patch of patches) {
    const bytes = patch.width * 3;
    for (let y = 0, from = 0; y < patch.height; y++) {
      const to = at + (patch.y + y) * stride + patch.x * 3;
      for (let x = 0; x < bytes; x++) rgb[to + x] = patch.rgb[from++] as number; // the patch has as many
    }
  }
}

/** Returns the bytes that a segment holds in memory, its objects counted in. */
export function segmentBytes({ grey, ends, patches }: RenderedSegment): number {
  return patches.reduce((sum, { rgb }) => sum + rgb.byteLength + 200, 500 + grey.byteLength + ends.byteLength);
}
