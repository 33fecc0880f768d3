import { sha256Bytes } from '../digest/sha256.ts';
import type { Patch, RenderedSegment } from './rendered-segment.ts';

/** A stored segment whose bytes are not those that were written. The message names the segment. */
export class SegmentDamaged extends Error {
  override readonly name = 'SegmentDamaged';
  readonly segmentId: string;
  constructor(segmentId: string, reason: string) {
    super(`the stored pixels of segment ${segmentId} are damaged: ${reason}`);
    this.segmentId = segmentId;
  }
}

const MAGIC = 0x45534732; // ESG2
const HEAD = 40;

/**
 * Writes a segment as bytes that name it and prove themselves: numbers, band ends, grey, patches, and last the SHA-256 of its id
 * and of all that came before. Equal segments give equal bytes.
 */
export function packSegment(id: string, segment: RenderedSegment): Uint8Array {
  const { width, height, lines, cutLines, outside, unshaped, bandHeight, ends, grey, patches } = segment;
  const head = numbers([MAGIC, width, height, lines, cutLines, outside, unshaped, bandHeight, grey.length, patches.length]);
  const parts = [head, numbers([...ends]), grey];
  for (const patch of patches) parts.push(numbers([patch.x, patch.y, patch.width, patch.height]), patch.rgb);
  const body = Buffer.concat(parts);
  return Buffer.concat([body, proof(id, body)]);
}

/** Reads what `packSegment` wrote. @throws SegmentDamaged when a byte was changed, or the bytes are of another segment. */
export function unpackSegment(id: string, packed: Uint8Array): RenderedSegment {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  const body = bytes.subarray(0, -32);
  if (bytes.length < HEAD + 32) throw new SegmentDamaged(id, `${bytes.length} bytes are too few`);
  if (!proof(id, body).equals(bytes.subarray(-32)))
    throw new SegmentDamaged(id, 'they do not have the digest that was written with them');
  if (body.readUInt32BE(0) !== MAGIC) throw new SegmentDamaged(id, 'they are of another format');
  let at = 4;
  const next = (): number => {
    at += 4;
    return body.readUInt32BE(at - 4);
  };
  const take = (count: number): Uint8Array => {
    at += count;
    return Uint8Array.from(body.subarray(at - count, at));
  };
  const [width, height, lines, cutLines, outside, unshaped, bandHeight] = [
    next(),
    next(),
    next(),
    next(),
    next(),
    next(),
    next(),
  ];
  const [greyBytes, patchCount] = [next(), next()];
  const ends = Uint16Array.from({ length: Math.ceil(height / bandHeight) }, next);
  const grey = take(greyBytes);
  const patches = Array.from({ length: patchCount }, (): Patch => {
    const [x, y, across, down] = [next(), next(), next(), next()];
    return { x, y, width: across, height: down, rgb: take(across * down * 3) };
  });
  return { width, height, lines, cutLines, outside, unshaped, bandHeight, ends, grey, patches };
}

function numbers(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value, i * 4);
  return bytes;
}

function proof(id: string, body: Uint8Array): Buffer {
  return sha256Bytes(id, body);
}
