import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { openSha256 } from '../../../digest/sha256.ts';
import { reasonOf } from '../dataset-error.ts';
import { readRawRows } from '../import/read-rows.ts';
import { readParquet } from './read-parquet.ts';
import type { BadRow, RowReader } from './recipe.ts';
import type { SourceFile } from './source-files.ts';

export interface SourceRow<Row> {
  /** Where it is, in the words of an error: file, row from 0, and the line in a text file. */
  readonly place: string;
  readonly row: Row | BadRow;
}

/** What a file was, once it is read to its end. */
export interface ReadFile {
  readonly name: string;
  readonly side: SourceFile['side'];
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads the rows of one file, and at its end returns what the file was. In memory bounded by a row, or by a row group
 * of a few columns.
 */
export async function* readSource<Row>(
  file: SourceFile,
  reader: RowReader<Row>,
  onEnd: (file: ReadFile) => void = () => undefined,
): AsyncGenerator<SourceRow<Row>> {
  let rows = 0;
  const hash = openSha256();
  if (file.format === 'parquet') {
    for await (const value of readParquet(file.path, reader.columns)) {
      yield { place: `${file.path} row ${rows}`, row: reader.parse(value) };
      rows += 1;
    }
    // read by columns, it passed by in no order of its own
    for await (const chunk of createReadStream(file.path)) hash.update(chunk);
  } else {
    for await (const { line, bytes } of readRawRows(file.path, hash)) {
      yield { place: `${file.path} line ${line}, row ${rows}`, row: parseText(bytes, reader) };
      rows += 1;
    }
  }
  const { size } = await stat(file.path);
  onEnd({ name: file.name, side: file.side, rows, bytes: size, sha256: hash.digest('hex') });
}

function parseText<Row>(bytes: Buffer, reader: RowReader<Row>): Row | BadRow {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    return { kind: 'bad', field: 'the row', problem: `is not UTF-8 JSON: ${reasonOf(cause)}` };
  }
  return reader.parse(value);
}
