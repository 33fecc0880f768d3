import { sha256Hex } from '../digest/sha256.ts';

/**
 * Names a picture by its pixels: the SHA-256 of `img`, NUL, width and height as 32-bit big-endian numbers, then RGB row by row,
 * in hex.
 */
export function imageId(width: number, height: number, rgb: Uint8Array): string {
  const head = Buffer.alloc(12, 'img\0', 'latin1');
  head.writeUInt32BE(width, 4);
  head.writeUInt32BE(height, 8);
  return sha256Hex(head, rgb);
}

/**
 * Names a segment by what it shows and how it is drawn: the SHA-256 of `seg`, NUL, the id of the render spec, NUL, its text in
 * UTF-8; in hex.
 */
export function segmentId(renderSpecId: string, text: string): string {
  return sha256Hex('seg\0', renderSpecId, '\0', text);
}
