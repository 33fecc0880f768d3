import { readdir, stat } from 'node:fs/promises';
import { basename, extname, join, relative, sep } from 'node:path';
import { codeOf, DatasetError, reasonOf } from '../dataset-error.ts';

/** A file of a data set, and which side of the split its name puts it on. */
export interface SourceFile {
  readonly path: string;
  /** Relative to the folder that was named: what the manifest calls it. */
  readonly name: string;
  readonly format: 'json' | 'parquet';
  readonly side: 'train' | 'test' | 'unsplit';
}

export interface SourceFiles {
  readonly files: readonly SourceFile[];
  /** Files of a format that is read whose names say no split: `dataset_infos.json`, `id_aliases.json`. */
  readonly passedOver: readonly string[];
}

const FORMATS: Readonly<Record<string, SourceFile['format']>> = { '.json': 'json', '.jsonl': 'json', '.parquet': 'parquet' };
const DEPTH = 4; // folders below the one named: Parquet files lie in `main/` or `data/`

/**
 * Finds the files of a data set: the one that is named, or those of a folder whose names say `train`, `dev`, `valid` or `test`,
 * in the order of their names. @throws DatasetError `cannot-read` when there is none.
 */
export async function findSourceFiles(from: string): Promise<SourceFiles> {
  const there = await stat(from).catch((cause) => {
    throw new DatasetError(
      'cannot-read',
      `cannot read ${from}: ${codeOf(cause) === 'ENOENT' ? 'there is nothing of that name' : reasonOf(cause)}`,
      {
        cause,
      },
    );
  });
  if (!there.isDirectory()) {
    const format = FORMATS[extname(from).toLowerCase()];
    if (format === undefined)
      throw new DatasetError('cannot-read', `cannot read ${from}: it ends in none of ${Object.keys(FORMATS).join(', ')}`);
    return { files: [{ path: from, name: basename(from), format, side: sideOf(basename(from)) }], passedOver: [] };
  }
  const files: SourceFile[] = [];
  const passedOver: string[] = [];
  for (const path of await listFiles(from, DEPTH)) {
    const format = FORMATS[extname(path).toLowerCase()];
    const name = relative(from, path).split(sep).join('/');
    const side = sideOf(basename(path));
    if (format === undefined) continue;
    if (side === 'unsplit') passedOver.push(name);
    else files.push({ path, name, format, side });
  }
  if (files.length === 0)
    throw new DatasetError(
      'cannot-read',
      `${from} holds no .json, .jsonl or .parquet file whose name says train, dev, valid or test; name the file itself`,
    );
  return { files, passedOver };
}

function sideOf(name: string): SourceFile['side'] {
  if (/train/i.test(name)) return 'train';
  return /(^|[^a-z])(dev|val|valid|validation|test)([^a-z]|$)/i.test(name) ? 'test' : 'unsplit';
}

async function listFiles(folder: string, depth: number): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1)); // by code units: the same order on every machine
  const paths: string[] = [];
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth > 0) paths.push(...(await listFiles(path, depth - 1)));
    else if (entry.isFile() || entry.isSymbolicLink()) paths.push(path);
  }
  return paths;
}
