import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../../digest/sha256.ts';
import type { ChatMessage } from '../../../domain/history/prompt.ts';
import { type ReadableNode, type ReadableRoot, readPublishedTree } from '../../../domain/search/published-tree.ts';
import type { SearchedStep } from '../../../domain/search/search-tree.ts';
import { type Tree, walkDown } from '../../../domain/tree/grow-tree.ts';
import { codeOf, DatasetError, reasonOf } from '../dataset-error.ts';
import { badRow } from './read-rows.ts';

/** One file, read: its task's opening and its tree. `system` and `acknowledgement` are null where the conversation has none. */
export interface AgentRTree {
  readonly alias: string;
  readonly sha256: string;
  readonly system: string | null;
  readonly instruction: string;
  readonly acknowledgement: string | null;
  readonly firstObservation: string;
  readonly tree: Tree<SearchedStep>;
}

const node: z.ZodType<ReadableNode> = z.object({
  visits: z.int().min(0).max(1_000_000), // of a leaf: that many back-ups are recorded
  value: z.number(),
  obs: z.string(),
  llm_response: z.string(),
  is_terminal: z.boolean(),
  action: z.string(),
  env_score: z.number(),
  disaster: z.boolean(),
  get children() {
    return z.array(node);
  },
});
const message = z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() });
const root: z.ZodType<ReadableRoot> = z.intersection(node, z.object({ state: z.array(message) }));

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a tree of the published program and checks that its counts are those of a search. @throws DatasetError `cannot-read`,
 * `bad-row`.
 */
export async function readAgentRTree(file: AgentRFile): Promise<AgentRTree> {
  const bytes = await readAgentRFile(file);
  const value = parseJson(file, bytes);
  if (isDeeper(value, DEEPEST)) throw badRow(file.path, 1, `its nodes are nested more than ${DEEPEST} deep`);
  const parsed = root.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw badRow(file.path, 1, `${issue?.path.map(String).join('.') || 'the tree'}: ${issue?.message}`);
  }
  const { opening, tree } = readPublishedTree(parsed.data);
  const refused = refuseCounts(tree);
  if (refused) throw badRow(file.path, 1, refused);
  return { alias: file.alias, sha256: sha256Hex(bytes), ...partsOf(file, opening), tree };
}

function parseJson({ path }: AgentRFile, bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    throw badRow(path, 1, `is not UTF-8 JSON, or was cut off: ${reasonOf(cause)}`, cause);
  }
}

const DEEPEST = 400; // nodes; the published program goes 40 deep, and Python cannot write many more than this

/** Looks level by level: who checks a tree calls itself for every level of it, and would run out of stack. */
function isDeeper(tree: unknown, limit: number): boolean {
  let level = [tree];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true;
    level = level.flatMap((each) =>
      typeof each === 'object' && each !== null && 'children' in each && Array.isArray(each.children) ? each.children : [],
    );
  }
  return false;
}

/** The opening is `[system] [instruction, acknowledgement] first observation` (specification of Agent-R, §1.2). */
function partsOf({ path }: AgentRFile, opening: readonly ChatMessage[]) {
  const [first, ...others] = opening;
  const system = first?.role === 'system' ? first.content : null;
  const rest = system === null ? opening : others;
  const roles = rest.map(({ role }) => role).join(' ');
  const [one, two, three] = rest.map(({ content }) => content);
  if (roles === 'user' && one !== undefined) return { system, instruction: '', acknowledgement: null, firstObservation: one };
  if (roles === 'user assistant user' && one !== undefined && two !== undefined && three !== undefined)
    return { system, instruction: one, acknowledgement: two, firstObservation: three };
  throw badRow(
    path,
    1,
    `state: the conversation of the root is ${roles || 'empty'}, not instruction, acknowledgement, first observation`,
  );
}

/** Visits and value of a node are the sums of its children's; a walk that ended is a terminal node without children. */
function refuseCounts(tree: Tree<SearchedStep>): string | null {
  for (const { step, children } of walkDown(tree.root)) {
    const at = `node ${step.stepId}`;
    if (children.length === 0) {
      if (step.visits > 0 && !step.terminal) return `${at} was backed up and is no end`;
      if (step.visits === 0 && step.valueSum !== 0) return `${at} has value ${step.valueSum} without a visit`;
      continue;
    }
    const visits = children.reduce((sum, child) => sum + child.step.visits, 0);
    const value = children.reduce((sum, child) => sum + child.step.valueSum, 0);
    if (step.visits !== visits) return `${at} has ${step.visits} visits, its children ${visits}: the file is not whole`;
    // The file's sums were made in the order of the walks, which it does not record: the last bits may differ.
    if (Math.abs(step.valueSum - value) > 1e-9 * Math.max(1, Math.abs(value)))
      return `${at} has value ${step.valueSum}, its children ${value}: the file is not whole`;
  }
  return null;
}

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
async function readAgentRFile({ path }: AgentRFile): Promise<Buffer> {
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
