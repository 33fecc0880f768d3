import { smallest } from '../domain/extremes.ts';
import { type RenderedSegment, writePatches, writeSegment } from './rendered-segment.ts';
import { VECTOR, vectorLoops } from './resize/vector-loops.ts';

/**
 * Writes the rows of a segment with a white border left and right: whole rows of `stride` bytes, the first at byte `at`. They are
 * made in the memory of the loops and copied once.
 */
export function writeBordered(segment: RenderedSegment, rgb: Uint8Array, at: number, stride: number, border: number): void {
  const { height, ends, grey, bandHeight } = segment;
  const loops = vectorLoops();
  const narrowest = smallest(ends);
  if (!loops || narrowest < VECTOR) {
    rgb.fill(255, at, at + height * stride);
    writeSegment(segment, rgb, at + border * 3, stride);
    return;
  }
  const rows = Math.ceil(grey.length / VECTOR) * VECTOR;
  const memory = loops.reserve(rows + height * stride);
  memory.set(grey);
  memory.fill(255, rows, rows + height * stride);
  for (let y = 0, from = 0; y < height; y++) {
    const end = ends[(y / bandHeight) | 0] as number; // a band for each row
    loops.spreadGrey(from, rows + y * stride + border * 3, end);
    from += end;
  }
  writePatches(segment, memory, rows + border * 3, stride);
  rgb.set(memory.subarray(rows, rows + height * stride), at);
}
