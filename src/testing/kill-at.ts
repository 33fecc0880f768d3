import { fileURLToPath } from 'node:url';
import { nodeArguments } from './bundle-programs.ts';
import { startCuttableProxy, type WorstMoment } from './cuttable-proxy.ts';
import { type ChildProcess, startNode } from './worker-process.ts';

/** Where a process is killed, by a name that says what was done and what was not. */
export type KillPoint =
  | { readonly name: string; readonly statement: WorstMoment }
  | { readonly name: string; readonly file: FileMoment };

/** A call of `node:fs/promises`. */
export interface FileMoment {
  readonly call: 'rename' | 'rm';
  /** A regular expression for the path of the call. */
  readonly path: string;
  /** The first such call, the second, … */
  readonly nth?: number;
  readonly when: 'before' | 'after';
}

const MAIN = 'src/cli/main.ts';
const PRELOADED = fileURLToPath(new URL('kill-at-file.mjs', import.meta.url));
const LIMIT_MS = 90_000;

/**
 * Runs a command of `espalier` in a process of its own and kills that with SIGKILL at a point: while its message to Postgres is
 * on the way, or at its call of the file system. @throws Error when it ends before it comes there.
 */
export async function killEspalierAt(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  point: KillPoint,
): Promise<void> {
  const ended = 'file' in point ? await endAtFile(args, env, point.file) : await endAtStatement(args, env, point.statement);
  if (ended.by !== 'SIGKILL')
    throw new Error(`espalier ${args[0]} ended with ${ended.by} before it was killed (${point.name}):\n${ended.said}`);
}

async function endAtFile(args: readonly string[], env: Readonly<Record<string, string>>, moment: FileMoment) {
  const set = { ...env, KILL_AT_FILE: JSON.stringify({ nth: 1, ...moment }) };
  return endOf(startNode(['--import', PRELOADED, ...nodeArguments(MAIN), ...args], MAIN, set));
}

async function endAtStatement(args: readonly string[], env: Readonly<Record<string, string>>, moment: WorstMoment) {
  const proxy = await startCuttableProxy(env.DATABASE_URL ?? '');
  try {
    const child = startNode([...nodeArguments(MAIN), ...args], MAIN, { ...env, DATABASE_URL: proxy.url });
    // in the same turn of the event loop in which the connection is cut: the process learns of nothing before it ends
    void proxy.cutAt(moment, LIMIT_MS).then(() => child.kill('SIGKILL'));
    return await endOf(child);
  } finally {
    await proxy.close();
  }
}

async function endOf(child: ChildProcess) {
  const by = await child.ended;
  return { by, said: `${child.stdout()}${child.stderr()}` };
}
