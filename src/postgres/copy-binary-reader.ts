import { finished } from 'node:stream/promises';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';

const END = -1; // in place of the number of columns
const HEADER = 'PGCOPY\n\xff\r\n\0'; // and eight bytes of flags that we do not use

/** The fields of a row, each as Postgres sends it in binary form; null for NULL. */
export type CopiedRow = readonly (Buffer | null)[];

/**
 * Reads the rows of a query in the binary form of COPY. Bytes travel as they are, where a result of rows carries them as twice as
 * many hex digits (1 KB values: half of the CPU of both sides). COPY takes no parameters: what the statement says must be numbers
 * and literals of the code.
 */
export async function copyBinary(client: pg.ClientBase, query: string): Promise<readonly CopiedRow[]> {
  const stream = client.query(copyTo(`copy (${query}) to stdout (format binary)`));
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await finished(stream);
  return readRows(Buffer.concat(chunks));
}

/** Reads the binary form of COPY. The fields are views of the bytes. */
export function readRows(bytes: Buffer): readonly CopiedRow[] {
  if (bytes.toString('latin1', 0, HEADER.length) !== HEADER) throw new TypeError('these bytes are not of a binary COPY');
  const rows: CopiedRow[] = [];
  let at = HEADER.length + 8 + bytes.readInt32BE(HEADER.length + 4);
  for (;;) {
    const count = bytes.readInt16BE(at);
    if (count === END) return rows;
    at += 2;
    const fields: (Buffer | null)[] = [];
    for (let i = 0; i < count; i++) {
      const length = bytes.readInt32BE(at);
      at += 4;
      fields.push(length === -1 ? null : bytes.subarray(at, at + length));
      at += Math.max(0, length);
    }
    rows.push(fields);
  }
}
