import { writeUuid } from '../../src/postgres/uuid-text.ts';
import { giveScratch, takeScratch } from '../../src/runtime/scratch.ts';

const [QUOTE, BACKSLASH, DASH] = [0x22, 0x5c, 0x2d];
const AROUND = 4; // as `answerSize` counts a name or a text
const OTHER = 8; // and what is no text

// What a byte of a text in UTF-8 is: itself; one that JSON escapes; one that continues a character; the first of four, which are
// two characters of a string.
const [PLAIN, ESCAPED, CONTINUES, OF_FOUR] = [0, 1, 2, 3];
const KINDS = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte < 0x20 || byte === QUOTE || byte === BACKSLASH) return ESCAPED;
  if (byte >= 0x80 && byte < 0xc0) return CONTINUES;
  return byte >= 0xf0 ? OF_FOUR : PLAIN;
});
const ESCAPES = Array.from({ length: 0x80 }, (_, byte) => Buffer.from(JSON.stringify(String.fromCharCode(byte)).slice(1, -1)));
const LONGEST = 6; // bytes of an escape
const DIGITS = Buffer.from('0123456789abcdef');
const UUID_BYTES = 38; // with its quotes
const LONGEST_NUMBER = 20;
const NOTHING = Buffer.alloc(0);

/** JSON that is written from the bytes of values, in a buffer that grows. */
export class JsonBytes {
  #out: Buffer;
  #end = 0;
  /** What `answerSize` finds of what is written. */
  size = 0;

  constructor(expected: number) {
    this.#out = takeScratch(expected);
  }

  get bytes(): Buffer {
    return this.#out.subarray(0, this.#end);
  }

  /** Releases the memory, when nobody looks at what was written any more. */
  release(): void {
    giveScratch(this.#out);
    this.#out = NOTHING;
    this.#end = 0;
  }

  /** Writes what is JSON already. */
  json(bytes: Uint8Array, size: number): void {
    this.#room(bytes.length);
    this.#put(bytes);
    this.size += size;
  }

  /** Writes what stands for a value that is no text. */
  literal(bytes: Uint8Array): void {
    this.json(bytes, OTHER);
  }

  /** Writes a text of UTF-8 that lies in other bytes. */
  text(from: Uint8Array, begin: number, length: number): void {
    this.#room(2 + LONGEST * length);
    const out = this.#out;
    let end = this.#end;
    let characters = length;
    out[end++] = QUOTE;
    for (let i = begin; i < begin + length; i++) {
      const byte = from[i] as number; // within its value
      const kind = KINDS[byte];
      if (kind === ESCAPED) {
        for (const part of ESCAPES[byte] as Buffer) out[end++] = part; // there is one for each
        continue;
      }
      if (kind === CONTINUES) characters--;
      else if (kind === OF_FOUR) characters++;
      out[end++] = byte;
    }
    out[end++] = QUOTE;
    this.#end = end;
    this.size += characters + AROUND;
  }

  /** Writes the sixteen bytes of a UUID as its text. */
  uuid(from: Uint8Array, begin: number): void {
    this.#room(UUID_BYTES);
    const out = this.#out;
    out[this.#end] = QUOTE;
    writeUuid(out, this.#end + 1, from, begin);
    this.#end += UUID_BYTES;
    out[this.#end - 1] = QUOTE;
    this.size += UUID_BYTES - 2 + AROUND;
  }

  /** Writes a whole number. */
  integer(value: number): void {
    this.#room(LONGEST_NUMBER);
    const out = this.#out;
    let rest = value;
    if (value < 0) {
      out[this.#end++] = DASH;
      rest = -value;
    }
    let digits = 1;
    for (let above = 10; above <= rest; above *= 10) digits++;
    this.#end += digits;
    for (let at = this.#end - 1; digits > 0; digits--, at--) {
      out[at] = DIGITS[rest % 10] as number;
      rest = Math.floor(rest / 10);
    }
    this.size += OTHER;
  }

  #put(bytes: Uint8Array): void {
    const out = this.#out;
    let end = this.#end;
    for (let i = 0; i < bytes.length; i++) out[end++] = bytes[i] as number; // a native copy of a few bytes takes longer
    this.#end = end;
  }

  #room(bytes: number): void {
    if (this.#end + bytes <= this.#out.length) return;
    const larger = takeScratch(Math.max(2 * this.#out.length, this.#end + bytes));
    this.#out.copy(larger, 0, 0, this.#end);
    giveScratch(this.#out);
    this.#out = larger;
  }
}
