import { sha256Hex } from '../digest/sha256.ts';
import { type RenderedSegment, segmentRgb } from './rendered-segment.ts';

/**
 * Returns the SHA-256 of a segment's pixels, RGB row by row, in hex: what a record of it says, and who draws it again compares.
 */
export function segmentDigest(segment: RenderedSegment): string {
  return sha256Hex(segmentRgb(segment));
}
