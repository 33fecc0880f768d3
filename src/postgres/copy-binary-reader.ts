import { finished } from 'node:stream/promises';
import type { RawBuilder } from 'kysely';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { CopyBinary } from './copy-client.ts';
import type { Db } from './database.ts';

const END = -1; // in place of the number of columns
const HEADER = 'PGCOPY\n\xff\r\n\0'; // and eight bytes of flags that we do not use

/**
 * Reads the rows of a query in the binary form of COPY: each field as Postgres sends it, null for NULL. Bytes travel as they are,
 * where a result of rows carries them as twice as many hex digits (1 KB values: half of the CPU of both sides). COPY takes no
 * parameters: what the statement says must be numbers and literals of the code.
 */
export async function copyOut(client: pg.ClientBase, query: string): Promise<readonly (readonly (Buffer | null)[])[]> {
  const stream = client.query(copyTo(`copy (${query}) to stdout (format binary)`));
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await finished(stream);
  return readCopy(Buffer.concat(chunks));
}

/** Reads the binary form of COPY. The fields are views of the bytes. */
export function readCopy(bytes: Buffer): readonly (readonly (Buffer | null)[])[] {
  const rows: (readonly (Buffer | null)[])[] = [];
  for (let at = headerLength(bytes); ; ) {
    const row = rowAt(bytes, at);
    if (row === null) return rows;
    rows.push(row.fields);
    at = row.end;
  }
}

/**
 * Hands over the fields of each row of a query, read in the binary form of COPY where they lie in the buffer of the connection:
 * who keeps bytes copies them. @param query without parameters: literals (`sql.lit`).
 */
export async function eachCopied(
  db: Db,
  query: RawBuilder<unknown>,
  take: (fields: readonly (Buffer | null)[]) => void,
): Promise<void> {
  let first = true;
  const rows = new CopyBinary((message) => {
    const row = first ? message.subarray(headerLength(message)) : message;
    first = false;
    const fields = row.length > 0 ? rowAt(row, 0)?.fields : undefined; // the header may come alone
    if (fields) take(fields);
  });
  await db.executeQuery({ ...query.compile(db), parameters: [rows] });
}

function headerLength(bytes: Buffer): number {
  if (bytes.toString('latin1', 0, HEADER.length) !== HEADER) throw new TypeError('these bytes are not of a binary COPY');
  return HEADER.length + 8 + bytes.readInt32BE(HEADER.length + 4);
}

/** Null for what ends the rows. */
function rowAt(bytes: Buffer, from: number): { readonly fields: readonly (Buffer | null)[]; readonly end: number } | null {
  const count = bytes.readInt16BE(from);
  if (count === END) return null;
  const fields: (Buffer | null)[] = [];
  let at = from + 2;
  for (let i = 0; i < count; i++) {
    const length = bytes.readInt32BE(at);
    at += 4;
    fields.push(length === -1 ? null : bytes.subarray(at, at + length));
    at += Math.max(0, length);
  }
  return { fields, end: at };
}
