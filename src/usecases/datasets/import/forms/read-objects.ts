import { readFile } from 'node:fs/promises';
import { openSha256, type Sha256 } from '../../../../digest/sha256.ts';
import { DatasetError } from '../../dataset-error.ts';
import { type Row, readRows } from '../read-rows.ts';

/**
 * Reads the objects of a file: one per line, the elements of an array, or the one that the whole file is, over several lines.
 * @throws DatasetError as `readRows`.
 */
export async function* readObjects(path: string, hash: Sha256 = openSha256()): AsyncGenerator<Row> {
  const whole = await wholeFile(path);
  if (whole === null) {
    yield* readRows(path, hash);
    return;
  }
  hash.update(whole.bytes);
  yield { line: 1, value: whole.value };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Null unless the first line is no JSON and the file is. */
async function wholeFile(path: string): Promise<{ readonly bytes: Buffer; readonly value: unknown } | null> {
  try {
    for await (const _ of readRows(path)) return null;
  } catch (error) {
    if (!(error instanceof DatasetError) || error.code !== 'bad-row') throw error;
  }
  const bytes = await readFile(path);
  try {
    return { bytes, value: JSON.parse(bytes.toString('utf8')) };
  } catch {
    return null;
  }
}
