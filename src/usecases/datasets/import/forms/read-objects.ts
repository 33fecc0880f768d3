import { readFile } from 'node:fs/promises';
import { openSha256, type Sha256 } from '../../../../digest/sha256.ts';
import { jsonLoss } from '../../../../events/json-loss.ts';
import { DatasetError } from '../../dataset-error.ts';
import { badRow, type Row, readRows } from '../read-rows.ts';

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
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const loss = jsonLoss(text, value);
  if (loss) throw badRow(path, 1, `${loss.path} ${loss.message}; ${loss.remedy}`);
  return { bytes, value };
}
