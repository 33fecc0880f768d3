import { createHash } from 'node:crypto';

/**
 * Names a picture by its pixels: the SHA-256 of `img`, NUL, width and height as 32-bit big-endian numbers, then RGB row by row,
 * in hex.
 */
export function imageId(width: number, height: number, rgb: Uint8Array): string {
  const head = Buffer.alloc(12, 'img\0', 'latin1');
  head.writeUInt32BE(width, 4);
  head.writeUInt32BE(height, 8);
  return createHash('sha256').update(head).update(rgb).digest('hex');
}

/**
 * Names a segment by what it shows and how it is drawn: the SHA-256 of `seg`, NUL, the id of the render spec, NUL, its text in
 * UTF-8; in hex.
 */
export function segmentId(renderSpecId: string, text: string): string {
  return createHash('sha256').update('seg\0').update(renderSpecId).update('\0').update(text).digest('hex');
}
