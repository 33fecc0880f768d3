import { readFile, writeFile } from 'node:fs/promises';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';

/** A part of a record as it lies in its file, one JSON object a line, in an order in which it can be put back. */
export type RecordPart =
  /** Statements that make tables. */
  | { readonly kind: 'sql'; readonly text: string }
  /** The rows of a table, in the text form of COPY. */
  | { readonly kind: 'rows'; readonly table: string; readonly columns: readonly string[]; readonly copy: string }
  /** A file of the installation, its path relative to its folder. */
  | { readonly kind: 'file'; readonly path: string; readonly base64: string };

const WINDOW = 24; // 16 MiB: the journal repeats the records of the log, which lie that far before it

/** Writes the parts of a record, compressed; returns how many bytes that are. */
export async function writeRecord(file: string, parts: readonly RecordPart[]): Promise<number> {
  const text = Buffer.from(parts.map((part) => `${JSON.stringify(part)}\n`).join(''));
  const params = { [constants.BROTLI_PARAM_LGWIN]: WINDOW, [constants.BROTLI_PARAM_SIZE_HINT]: text.byteLength };
  const bytes = brotliCompressSync(text, { params });
  await writeFile(file, bytes);
  return bytes.byteLength;
}

/** Reads the parts of a record in the order in which they were written. */
export async function readRecord(file: URL): Promise<readonly RecordPart[]> {
  const text = brotliDecompressSync(await readFile(file)).toString();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as RecordPart); // as `writeRecord` wrote it
}

/** How a command ended: its exit code, and what it printed as JSON; of an export the SHA-256 of the file. */
export interface Answer {
  readonly code: number;
  readonly said: unknown;
}

/** What the program that made a record said about it. */
export interface OldAnswers {
  /** By run: the digest of everything that happened in it. */
  readonly digests: Readonly<Record<string, string>>;
  /** By command. */
  readonly answers: Readonly<Record<string, Answer>>;
}
