import { WrittenBytes } from './written-bytes.ts';

/**
 * Returns rows in the binary form of COPY, which Postgres reads without parsing; undefined where a value is not one of its
 * column as it is, of which the text form lets Postgres say what it means or why not.
 */
export function copiedIn(rows: readonly object[], types: Readonly<Record<string, string>>): CopiedIn | undefined {
  const fields = Object.entries(types).map(([name, type]) => ({ name, write: WRITERS[type] }));
  const copied = new CopiedIn();
  for (const row of rows as readonly Readonly<Record<string, unknown>>[]) {
    copied.int16(fields.length);
    for (const { name, write } of fields) {
      const value = row[name];
      if (value === null || value === undefined) copied.null();
      else if (write === undefined || !write(copied, value)) return undefined;
    }
  }
  copied.finish();
  return copied;
}

const PIECE = 65_536; // bytes: what one message carries, so that Postgres reads it into memory that is near
const HEADER = 5;
const COPY_DATA = 0x64;
const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1'); // no flags, no extension
const SHORT = 40;
const DASH = 45;
const ZERO = 48;

/** The messages that carry the rows of a COPY in its binary form. */
export class CopiedIn {
  #bytes = Buffer.allocUnsafeSlow(PIECE);
  #view = viewOf(this.#bytes);
  #array = arrayOf(this.#bytes); // written byte by byte in half of the time that a Buffer takes
  #end = HEADER;
  readonly #messages: Buffer[] = [];

  constructor() {
    this.#end += SIGNATURE.copy(this.#bytes, this.#end);
  }

  /** What is sent between the statement and its end. */
  get messages(): readonly Buffer[] {
    return this.#messages;
  }

  finish(): void {
    this.int16(-1);
    this.#endMessage();
  }

  null(): void {
    this.#reserve(4);
    this.#setInt32(-1);
  }

  int16(value: number): void {
    this.#reserve(2);
    this.#view.setInt16(this.#end, value);
    this.#end += 2;
  }

  boolean(value: boolean): true {
    this.#reserve(5);
    this.#setInt32(1);
    this.#bytes[this.#end++] = value ? 1 : 0;
    return true;
  }

  int32(value: number): true {
    this.#reserve(8);
    this.#setInt32(4);
    this.#setInt32(value);
    return true;
  }

  /** @param value a safe integer. */
  int64(value: number): true {
    this.#reserve(12);
    this.#setInt32(8);
    const high = Math.floor(value / 2 ** 32);
    this.#setInt32(high);
    this.#view.setUint32(this.#end, value - high * 2 ** 32);
    this.#end += 4;
    return true;
  }

  float64(value: number): true {
    this.#reserve(12);
    this.#setInt32(8);
    this.#view.setFloat64(this.#end, value);
    this.#end += 8;
    return true;
  }

  /** @param version a byte that comes before the text. */
  text(text: string, version?: number): true {
    this.#reserve(HEADER + 3 * text.length);
    const start = this.#end + 4;
    let at = start;
    if (version !== undefined) this.#bytes[at++] = version;
    at += text.length <= SHORT && this.#isAscii(text, at) ? text.length : this.#bytes.write(text, at);
    this.#view.setInt32(this.#end, at - start);
    this.#end = at;
    return true;
  }

  /** Returns false where the text is none of a UUID. */
  uuid(text: string): boolean {
    if (text.length !== 36) return false;
    this.#reserve(20);
    this.#setInt32(16);
    const bytes = this.#array;
    let at = this.#end;
    for (let i = 0; i < 36; i += 2) {
      if (i === 8 || i === 13 || i === 18 || i === 23) {
        if (text.charCodeAt(i) !== DASH) return false;
        i++;
      }
      const byte = ((DIGITS[text.charCodeAt(i)] as number) << 4) | (DIGITS[text.charCodeAt(i + 1)] as number);
      if (byte < 0) return false;
      bytes[at++] = byte;
    }
    this.#end = at;
    return true;
  }

  bytes(bytes: Buffer): true {
    this.#reserve(4 + bytes.length);
    this.#setInt32(bytes.length);
    this.#end += bytes.copy(this.#bytes, this.#end);
    return true;
  }

  /** @param hex digits only, an even number of them. */
  hex(hex: string): boolean {
    const length = hex.length / 2;
    this.#reserve(4 + length);
    this.#setInt32(length);
    const written = this.#bytes.write(hex, this.#end, 'hex');
    this.#end += written;
    return written === length;
  }

  /** Writes an array of values that all take so many bytes, their lengths not counted. */
  array(values: readonly unknown[], type: number, bytes: number, write: (copied: CopiedIn, value: unknown) => boolean): boolean {
    const some = values.length > 0;
    this.#reserve(24);
    this.#setInt32((some ? 20 : 12) + values.length * (4 + bytes));
    this.#setInt32(some ? 1 : 0);
    this.#setInt32(0); // without nulls
    this.#setInt32(type);
    if (!some) return true;
    this.#setInt32(values.length);
    this.#setInt32(1); // where it begins
    return values.every((value) => write(this, value));
  }

  /** A message may end anywhere, also within a row. */
  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    this.#endMessage();
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(PIECE, HEADER + bytes));
    this.#view = viewOf(this.#bytes);
    this.#array = arrayOf(this.#bytes);
    this.#end = HEADER;
  }

  #endMessage(): void {
    this.#bytes[0] = COPY_DATA;
    this.#view.setInt32(1, this.#end - 1);
    this.#messages.push(this.#bytes.subarray(0, this.#end));
  }

  #setInt32(value: number): void {
    this.#view.setInt32(this.#end, value);
    this.#end += 4;
  }

  /** Writes a text that is ASCII: to do so for a short one costs less than a call out of JavaScript. */
  #isAscii(text: string, at: number): boolean {
    const bytes = this.#array;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) return false;
      bytes[at + i] = code;
    }
    return true;
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function arrayOf({ buffer, byteOffset, byteLength }: Buffer): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

const DIGITS = new Int8Array(65_536).fill(-1); // of every code of a text
for (let i = 0; i < 16; i++) for (const digit of [i.toString(16), i.toString(16).toUpperCase()]) DIGITS[digit.charCodeAt(0)] = i;

type Write = (copied: CopiedIn, value: unknown) => boolean;
const UUID_TYPE = 2950;
const BIGINT_TYPE = 20;

const uuid: Write = (copied, value) => typeof value === 'string' && copied.uuid(value);
const bigint: Write = (copied, value) => Number.isSafeInteger(value) && copied.int64(value as number);

/** Type → how a value of it is written; returns false where it is another. */
const WRITERS: Readonly<Record<string, Write | undefined>> = {
  uuid,
  text: (copied, value) => typeof value === 'string' && copied.text(value),
  boolean: (copied, value) => typeof value === 'boolean' && copied.boolean(value),
  integer: (copied, value) => value === ((value as number) | 0) && copied.int32(value as number),
  bigint,
  // +0 for -0, as its text has it
  'double precision': (copied, value) => Number.isFinite(value) && copied.float64((value as number) + 0),
  jsonb: (copied, value) => copied.text(JSON.stringify(value), 1),
  timestamptz: (copied, value) => {
    const at = typeof value === 'string' ? microsecondsOf(value) : undefined;
    return at !== undefined && copied.int64(at);
  },
  bytea: (copied, value) =>
    value instanceof WrittenBytes
      ? copied.bytes(value.bytes)
      : typeof value === 'string' && value.startsWith('\\x') && copied.hex(value.slice(2)),
  'bigint[]': (copied, value) => Array.isArray(value) && copied.array(value, BIGINT_TYPE, 8, bigint),
  'uuid[]': (copied, value) => Array.isArray(value) && copied.array(value, UUID_TYPE, 16, uuid),
};

const EPOCH_DAY = 730_425; // of Postgres: 2000-01-01, counted from 0000-03-01
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Returns the microseconds since 2000 of an instant as `toISOString` writes it; undefined of any other text, a day that there is
 * not and the year 0 included. `Date.parse` takes three times as long.
 */
function microsecondsOf(text: string): number | undefined {
  if (text.length !== 24 || text[4] !== '-' || text[7] !== '-' || text[10] !== 'T') return undefined;
  if (text[13] !== ':' || text[16] !== ':' || text[19] !== '.' || text[23] !== 'Z') return undefined;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  const hours = digits(text, 11, 13);
  const minutes = digits(text, 14, 16);
  const seconds = digits(text, 17, 19);
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const most = month === 2 && !leap ? 28 : (DAYS[month - 1] ?? 0);
  const isInstant = year > 0 && day > 0 && day <= most && hours < 24 && minutes < 60 && seconds < 60; // false of what is no digit
  if (!isInstant) return undefined;
  const from = month > 2 ? year : year - 1; // years begin with March here, so that the leap day is the last
  const days = 365 * from + Math.floor(from / 4) - Math.floor(from / 100) + Math.floor(from / 400);
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const at = ((((days + ofYear - EPOCH_DAY) * 24 + hours) * 60 + minutes) * 60 + seconds) * 1e6 + digits(text, 20, 23) * 1e3;
  return Number.isSafeInteger(at) ? at : undefined; // not from the year 2285 on, nor of what is no digit
}

function digits(text: string, from: number, to: number): number {
  let number = 0;
  for (let i = from; i < to; i++) {
    const digit = text.charCodeAt(i) - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    number = 10 * number + digit;
  }
  return number;
}
