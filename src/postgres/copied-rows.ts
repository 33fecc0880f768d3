import type { RawBuilder } from 'kysely';
import { giveScratch, takeScratch } from '../runtime/scratch.ts';
import { eachCopiedRow } from './copy-out.ts';
import type { Db } from './database.ts';
import { uuidText } from './uuid-text.ts';

const FIRST = 65_536; // bytes
const NOTHING = Buffer.alloc(0);

/** A column of which the binary form is known here. */
export interface CopiedColumn {
  /** Its property in a record. */
  readonly name: string;
  readonly type: 'uuid' | 'text' | 'integer' | 'bigint' | 'boolean' | 'jsonb';
}

/** Memory that is given back once. */
export interface Memory {
  bytes: Buffer;
}

/**
 * Rows as Postgres sent them, in one piece of memory. They are records for who walks through them; who only passes them on reads
 * the bytes, and no record is made.
 */
export class CopiedRows<Row> implements Iterable<Row> {
  readonly columns: readonly CopiedColumn[];
  /** One for all that share it. */
  readonly #memory: Memory;
  /** Where each row begins: for each column its length (-1 for null), as four bytes, and its value. */
  readonly starts: readonly number[];
  readonly #made: (record: never) => Row;
  #records: readonly Row[] | undefined;

  /** @param made is handed each record, and returns what stands for it. */
  constructor(
    columns: readonly CopiedColumn[],
    memory: Memory,
    starts: readonly number[],
    made: (record: never) => Row = (record) => record,
  ) {
    this.columns = columns;
    this.#memory = memory;
    this.starts = starts;
    this.#made = made;
  }

  get bytes(): Buffer {
    return this.#memory.bytes;
  }

  /** Releases the memory, when nobody looks at the rows any more. */
  release(): void {
    giveScratch(this.bytes);
    this.#memory.bytes = NOTHING;
  }

  get length(): number {
    return this.starts.length;
  }

  /** The same objects each time. */
  get records(): readonly Row[] {
    this.#records ??= this.starts.map((start) => this.#made(this.#recordAt(start)));
    return this.#records;
  }

  [Symbol.iterator](): Iterator<Row> {
    return this.records[Symbol.iterator]();
  }

  /** Returns the rows of each value of a column, in their order. */
  groupedBy(name: string): ReadonlyMap<string, CopiedRows<Row>> {
    const place = this.columns.findIndex((column) => column.name === name);
    const groups = new Map<string, number[]>();
    for (const start of this.starts) {
      let at = start;
      for (let i = 0; i < place; i++) at += 4 + Math.max(0, this.bytes.readInt32BE(at));
      const value = String(this.#valueAt(at, place));
      const group = groups.get(value);
      if (group) group.push(start);
      else groups.set(value, [start]);
    }
    return new Map([...groups].map(([value, starts]) => [value, new CopiedRows(this.columns, this.#memory, starts, this.#made)]));
  }

  #recordAt(start: number): never {
    const record: Record<string, unknown> = {};
    let at = start;
    for (const [place, { name }] of this.columns.entries()) {
      record[name] = this.#valueAt(at, place);
      at += 4 + Math.max(0, this.bytes.readInt32BE(at));
    }
    return record as never; // as its columns say
  }

  #valueAt(at: number, place: number): unknown {
    const { bytes, columns } = this;
    const length = bytes.readInt32BE(at);
    if (length === -1) return null;
    const type = columns[place]?.type;
    const from = at + 4;
    switch (type) {
      case 'uuid':
        return uuidText(bytes, from);
      case 'text':
        return bytes.toString('utf8', from, from + length);
      case 'integer':
        return bytes.readInt32BE(from);
      case 'bigint':
        return exactly(bytes.readBigInt64BE(from));
      case 'boolean':
        return bytes[from] === 1;
      case 'jsonb':
        return JSON.parse(bytes.toString('utf8', from + 1, from + length)); // behind the version of its form
      default:
        throw new RangeError(`there is no column ${place}`);
    }
  }
}

function exactly(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new RangeError(`${value} does not fit a number exactly`);
  return number;
}

/** Reads the rows of a query of these columns. @param query without parameters: literals (`sql.lit`). */
export async function readCopiedRows<Row>(
  db: Db,
  query: RawBuilder<unknown>,
  columns: readonly CopiedColumn[],
  made?: (record: never) => Row,
): Promise<CopiedRows<Row>> {
  let bytes = takeScratch(FIRST);
  let end = 0;
  const starts: number[] = [];
  await eachCopiedRow(db, query, (row) => {
    if (end + row.length > bytes.length) {
      const larger = takeScratch(Math.max(2 * bytes.length, end + row.length));
      bytes.copy(larger, 0, 0, end);
      giveScratch(bytes);
      bytes = larger;
    }
    row.copy(bytes, end, 2); // behind the number of its columns
    starts.push(end);
    end += row.length - 2;
  });
  return new CopiedRows(columns, { bytes }, starts, made);
}
