import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { codeOf, DatasetError, reasonOf } from '../dataset-error.ts';

/** A search tree of the published program: `search_results_<alias>.json`. */
export interface AgentRFile {
  readonly path: string;
  /** The environment's number of the task. */
  readonly alias: string;
}

const OWN_NAME = /^search_results_\d+\.json$/;
const NUMBERED = /_(\d+)\.json$/; // the published reader takes any name, and the number after the last underscore
// bytes parsed at once: depth 40 with 4 candidates takes 81 MB (specification of Agent-R, §1.6)
const SIZE_LIMIT = 256 * 1024 * 1024;

/** Returns whether a source is a folder of search trees, or a file that has the name of one. */
export async function isAgentRSource(source: string): Promise<boolean> {
  const found = await stat(source).catch(() => undefined);
  return found?.isDirectory() === true || OWN_NAME.test(basename(source));
}

/**
 * Lists the trees of a file or folder by their numbers. @throws DatasetError `cannot-read` when there is none, `bad-row` for two
 * of one number.
 */
export async function agentRFiles(source: string): Promise<readonly AgentRFile[]> {
  const found = await stat(source).catch((cause) => {
    throw cannotRead(source, cause);
  });
  const names = found.isDirectory() ? (await readdir(source)).map((name) => join(source, name)) : [source];
  const files = names.flatMap((path): AgentRFile[] => {
    const alias = NUMBERED.exec(path)?.[1];
    return alias === undefined ? [] : [{ path, alias: String(BigInt(alias)) }];
  });
  if (files.length === 0)
    throw new DatasetError(
      'cannot-read',
      `${source} holds no search_results_<number>.json; name the folder of one task and model`,
    );
  files.sort((a, b) => (BigInt(a.alias) < BigInt(b.alias) ? -1 : 1));
  for (const [i, { alias, path }] of files.entries()) {
    if (files[i + 1]?.alias === alias)
      throw new DatasetError('bad-row', `${path} and ${files[i + 1]?.path} are both of task ${alias}; nothing was imported`);
  }
  return files;
}

/** Reads a file whole. @throws DatasetError `cannot-read`. */
export async function readAgentRFile({ path }: AgentRFile): Promise<Buffer> {
  const size = await stat(path).then(
    (found) => found.size,
    (cause) => {
      throw cannotRead(path, cause);
    },
  );
  if (size > SIZE_LIMIT)
    throw new DatasetError('cannot-read', `${path} has ${size} bytes; at most ${SIZE_LIMIT} are read at once`);
  return readFile(path).catch((cause) => {
    throw cannotRead(path, cause);
  });
}

/** Reads task and model out of `mcts_result/<task>/<model>/…`, where the published program keeps its trees (§1.7). */
export function namesInPath(source: string): { readonly task: string | null; readonly model: string | null } {
  const parts = resolve(source).split(/[\\/]/);
  const at = parts.lastIndexOf('mcts_result');
  const [task, model] = at < 0 ? [] : parts.slice(at + 1).filter((part) => !part.endsWith('.json'));
  return { task: task ?? null, model: model ?? null };
}

function cannotRead(path: string, cause: unknown): DatasetError {
  const reason = codeOf(cause) === 'ENOENT' ? 'there is no such file or folder' : reasonOf(cause);
  return new DatasetError('cannot-read', `cannot read ${path}: ${reason}`, { cause });
}
