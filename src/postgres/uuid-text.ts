const DASH = 0x2d;
const DIGITS = Buffer.from('0123456789abcdef');
const text = Buffer.alloc(36);

/** Writes the text of a UUID, 36 bytes, from its sixteen bytes. */
export function writeUuid(out: Uint8Array, at: number, from: Uint8Array, begin: number): void {
  let end = at;
  for (let i = 0; i < 16; i++) {
    const byte = from[begin + i] as number; // of sixteen
    if (i === 4 || i === 6 || i === 8 || i === 10) out[end++] = DASH;
    out[end++] = DIGITS[byte >> 4] as number;
    out[end++] = DIGITS[byte & 15] as number;
  }
}

/** Returns the text of a UUID. */
export function uuidText(from: Uint8Array, begin: number): string {
  writeUuid(text, 0, from, begin);
  return text.toString('latin1');
}
