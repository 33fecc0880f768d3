import { open } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Sha256 } from '../../../digest/sha256.ts';
import { jsonLoss } from '../../../events/json-loss.ts';
import { codeOf, DatasetError, reasonOf } from '../dataset-error.ts';

/** One JSON value of a file and the line it begins on (from 1). */
export interface Row {
  readonly line: number;
  readonly value: unknown;
}

const CHUNK = 256 * 1024; // bytes per read
const ROW_LIMIT = 64 * 1024 * 1024; // bytes of one row: what is held in memory of a file of any size
const TOO_LONG = `the row is longer than ${ROW_LIMIT} bytes, and a file that is one object is one row; write it as several rows or files (a log of Inspect as .eval)`;

const [TAB, NEWLINE, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20];
const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const GZIP = Buffer.from([0x1f, 0x8b]);

/**
 * Reads the rows of a file one by one in bounded memory: the elements of one JSON array (AgentTraj files are that), one JSON value
 * per line, or objects over several lines each. What the file is, its first character and its second line say. One that is packed
 * by gzip is read as what is in it.
 * @param hash is fed every byte of that.
 * @throws DatasetError `cannot-read`, or `bad-row` with the line when a row is not JSON, is too long, or the file ends inside
 * one.
 */
export async function* readRows(path: string, hash?: Sha256): AsyncGenerator<Row> {
  for await (const row of readParsedRows(path, hash)) {
    if (row.kind === 'refused') throw badRow(path, row.line, row.reason);
    yield row;
  }
}

/** A row, or why it cannot be read. */
export type ParsedRow =
  | (Row & { readonly kind: 'row' })
  | { readonly kind: 'refused'; readonly line: number; readonly reason: string };

/** Reads rows as `readRows` does; one that is not JSON stops nothing. @throws as `readRows` for the file as a whole. */
export async function* readParsedRows(path: string, hash?: Sha256, nonFinite: NonFinite = 'refuse'): AsyncGenerator<ParsedRow> {
  for await (const { line, bytes } of readRawRows(path, hash)) {
    yield { line, ...parseJson(bytes, nonFinite) };
  }
}

/** What becomes of `NaN` and `Infinity`, which are no JSON, and which writers in Python write: with `null` they are unknown. */
export type NonFinite = 'refuse' | 'null';

/**
 * Reads the rows of a file as they lie there, whether they are JSON or not: for who can do without a broken one. @throws as
 * `readRows` for the file as a whole.
 */
export async function* readRawRows(path: string, hash?: Sha256): AsyncGenerator<RawRow> {
  const splitter = new RowSplitter(path);
  for await (const chunk of readChunks(path)) {
    hash?.update(chunk);
    yield* splitter.push(chunk);
  }
  yield* splitter.end();
}

/** Makes the error of a row that cannot be taken. */
export function badRow(path: string, line: number, reason: string, cause?: unknown): DatasetError {
  return new DatasetError('bad-row', `${path} line ${line}: ${reason}; nothing was imported`, { cause });
}

async function* readChunks(path: string): AsyncGenerator<Buffer> {
  let first = true;
  for await (const bytes of unpacked(path)) {
    yield first && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? bytes.subarray(3) : bytes;
    first = false;
  }
}

async function* unpacked(path: string): AsyncGenerator<Buffer> {
  let isGzip = false;
  for await (const first of readBytes(path)) {
    isGzip = first.subarray(0, 2).equals(GZIP);
    break;
  }
  if (!isGzip) {
    yield* readBytes(path);
    return;
  }
  try {
    yield* pipeline(Readable.from(readBytes(path)), createGunzip(), () => undefined); // whoever reads it sees the error
  } catch (cause) {
    if (cause instanceof DatasetError) throw cause;
    throw new DatasetError('cannot-read', `cannot unpack ${path}: ${reasonOf(cause)}; the file may be incomplete`, { cause });
  }
}

async function* readBytes(path: string): AsyncGenerator<Buffer> {
  const handle = await open(path, 'r').catch((cause) => {
    throw cannotRead(path, cause);
  });
  try {
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK).catch((cause) => {
        throw cannotRead(path, cause);
      });
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

function cannotRead(path: string, cause: unknown): DatasetError {
  const remedy: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file',
    EISDIR: 'it is a folder; name a file',
    EACCES: 'it may not be read; change its permissions',
  };
  return new DatasetError('cannot-read', `cannot read ${path}: ${remedy[codeOf(cause)] ?? reasonOf(cause)}`, { cause });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Parses one value, or says why it cannot be read as it is. */
export function parseJson(
  bytes: Uint8Array,
  nonFinite: NonFinite,
): { readonly kind: 'row'; readonly value: unknown } | { readonly kind: 'refused'; readonly reason: string } {
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(bytes);
    if (nonFinite === 'null' && NON_FINITE.test(text)) text = withoutNonFinite(text);
    value = JSON.parse(text);
  } catch (cause) {
    return { kind: 'refused', reason: `is not UTF-8 JSON: ${reasonOf(cause)}` };
  }
  const loss = jsonLoss(text, value);
  return loss ? { kind: 'refused', reason: `${loss.path} ${loss.message}; ${loss.remedy}` } : { kind: 'row', value };
}

const NON_FINITE = /NaN|Infinity/;
/** What begins and ends strings, but no whole string: one of some megabytes overflows the stack of the regular expression. */
const QUOTE_OR_NON_FINITE = /\\["\\]|"|-?\b(?:NaN|Infinity)\b/g;

function withoutNonFinite(text: string): string {
  let inString = false;
  return text.replace(QUOTE_OR_NON_FINITE, (token) => {
    if (token === '"') inString = !inString;
    return inString || /["\\]/.test(token) ? token : 'null';
  });
}

/** One row of a file before it is parsed. */
export interface RawRow {
  readonly line: number;
  readonly bytes: Buffer;
}

/**
 * Cuts bytes into rows without parsing them: in an array at the commas of its own level, else at line ends, or where neither the
 * first line nor the second one is a whole object, behind each object. It knows strings and nesting and nothing more; whether a
 * row is JSON its parser says.
 */
class RowSplitter {
  readonly #path: string;
  #mode: 'unknown' | 'array' | 'first-line' | 'between-lines' | 'second-line' | 'lines' | 'objects' | 'after' = 'unknown';
  #line = 1;
  #rowLine = 1;
  #parts: Buffer[] = [];
  #size = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #rows = 0;
  #firstLineSize = 0;
  #blank = true;

  constructor(path: string) {
    this.#path = path;
  }

  push(chunk: Buffer): readonly RawRow[] {
    const rows: RawRow[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (this.#mode === 'unknown') {
        if (byte === OPEN_ARRAY) {
          this.#mode = 'array';
          from = at + 1;
          continue;
        }
        if (byte === OPEN_OBJECT) this.#mode = 'first-line';
        else if (!isBlank(byte)) throw badRow(this.#path, this.#line, 'is neither a JSON array nor JSON lines');
      }
      if (this.#mode === 'between-lines' && byte !== NEWLINE && byte !== RETURN) {
        this.#mode = byte === OPEN_OBJECT ? 'second-line' : 'objects';
        this.#keep(chunk.subarray(from, at));
        from = at;
        this.#firstLineSize = this.#size;
      } else if (this.#mode === 'second-line' && byte === NEWLINE) {
        this.#keep(chunk.subarray(from, at));
        from = at;
        for (const each of this.#readSecondLine()) rows.push(each);
      }
      if (this.#blank && !isBlank(byte)) {
        if (this.#mode === 'after') throw badRow(this.#path, this.#line, 'something follows the end of the array');
        this.#rowLine = this.#line;
        this.#blank = false;
      }
      if (this.#isEnd(byte)) {
        this.#keep(chunk.subarray(from, this.#mode === 'objects' ? at + 1 : at));
        from = at + 1;
        this.#finishRow(byte, rows);
      }
      if (byte === NEWLINE) this.#line += 1;
    }
    this.#keep(chunk.subarray(from));
    return rows;
  }

  end(): readonly RawRow[] {
    if (this.#mode === 'unknown') throw badRow(this.#path, 1, 'is empty');
    if (this.#mode === 'array') {
      const where = this.#blank ? `after row ${this.#rows}` : `inside row ${this.#rows + 1}`;
      throw badRow(this.#path, this.#line, `the file is cut off ${where}: the array is not closed`);
    }
    const rows = this.#mode === 'second-line' ? this.#readSecondLine() : [];
    if (this.#blank) return rows;
    if (this.#mode === 'objects' && this.#depth > 0)
      throw badRow(this.#path, this.#rowLine, 'the object that begins here is not closed; JSON lines hold a whole one each');
    return [...rows, this.#take()];
  }

  /** Decides what the file is by its second line: a whole object is a row behind a broken one, else it continues the first line. */
  #readSecondLine(): readonly RawRow[] {
    const both = Buffer.concat(this.#parts);
    const second = both.subarray(this.#firstLineSize);
    this.#parts = [both.subarray(0, this.#firstLineSize)];
    this.#size = this.#firstLineSize;
    if (!this.#isWholeObject(second)) {
      this.#mode = 'objects';
      return this.push(second);
    }
    this.#mode = 'lines';
    const first = this.#take();
    this.#rowLine = this.#line;
    this.#blank = false;
    this.#keep(second);
    return [first];
  }

  #isWholeObject(line: Buffer): boolean {
    const alone = new RowSplitter(this.#path);
    alone.#mode = 'objects';
    return alone.push(line).length === 1 && alone.#blank;
  }

  /** Follows strings and nesting; returns whether this byte ends a row. */
  #isEnd(byte: number): boolean {
    if (this.#mode === 'lines') return byte === NEWLINE;
    if (this.#mode === 'first-line' && byte === NEWLINE) {
      const isWhole = this.#depth === 0 && !this.#inString;
      this.#mode = isWhole ? 'lines' : 'between-lines';
      return isWhole;
    }
    if (this.#mode === 'after' || this.#mode === 'between-lines' || this.#mode === 'second-line') return false;
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inString = false;
      return false;
    }
    if (byte === QUOTE) this.#inString = true;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.#depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#depth -= 1;
    if (this.#mode === 'objects') return byte === CLOSE_OBJECT && this.#depth === 0;
    return this.#mode === 'array' && (byte === CLOSE_ARRAY ? this.#depth < 0 : byte === COMMA && this.#depth === 0);
  }

  #finishRow(byte: number, rows: RawRow[]): void {
    const closing = this.#mode === 'array' && byte === CLOSE_ARRAY;
    // In an array the separator itself was the first visible byte when nothing preceded it.
    const empty = this.#mode === 'array' ? this.#isBlankSoFar() : this.#blank;
    if (!empty) rows.push(this.#take());
    else if (this.#mode === 'array' && !(closing && this.#rows === 0))
      throw badRow(this.#path, this.#line, 'a comma is in the place of a row');
    else this.#forget();
    if (closing) this.#mode = 'after';
  }

  #isBlankSoFar(): boolean {
    return this.#parts.every((part) => part.every(isBlank));
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0 || this.#mode === 'after' || this.#mode === 'unknown') return;
    this.#parts.push(bytes);
    this.#size += bytes.length;
    if (this.#size > ROW_LIMIT) throw badRow(this.#path, this.#rowLine, TOO_LONG);
  }

  #take(): RawRow {
    const row = { line: this.#rowLine, bytes: Buffer.concat(this.#parts) };
    this.#rows += 1;
    this.#forget();
    return row;
  }

  #forget(): void {
    this.#parts = [];
    this.#size = 0;
    this.#blank = true;
  }
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === NEWLINE || byte === RETURN || byte === TAB;
}
