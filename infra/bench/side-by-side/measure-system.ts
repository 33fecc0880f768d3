import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childEnvironment } from '../../../src/runtime/config.ts';
import { until } from '../../../src/testing/until.ts';
import { freePort } from '../../../src/testing/worker-process.ts';
import type { System } from './systems.ts';

const SCRIPTS = fileURLToPath(new URL('.', import.meta.url));
const START_MS = 300_000;
const LONGEST_MS = 1_800_000;

/** What a script says of the work. Seconds; `durable_s` is null where nothing ever is. */
export interface Said {
  readonly steps: number;
  readonly fetched: number;
  readonly sent_s: number;
  readonly durable_s: number | null;
  readonly queryable_s: number;
  readonly fetch_s: number;
}
export interface Measured extends Said {
  /** Bytes on disk for the work; null where none are. */
  readonly bytes: number | null;
  readonly batch: number;
}

/** Records the work by each batch setting, before a server of its own, and returns the best: queryable the soonest. */
export async function measureSystem(system: System, python: string, episodes: number): Promise<Measured> {
  const found: Measured[] = [];
  for (const batch of system.batches) found.push(await measureOnce(system, python, episodes, batch));
  return found.reduce((best, next) => (next.queryable_s < best.queryable_s ? next : best));
}

async function measureOnce(system: System, python: string, episodes: number, batch: number): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-side-by-side-'));
  const port = await freePort();
  const { args, env, healthy } = await system.server(folder, port);
  const url = `http://127.0.0.1:${port}`;
  const server = spawn(python, args, {
    cwd: folder,
    env: childEnvironment({ ...env, HOME: folder }),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // it may start workers: all are ended together
  });
  let heard = '';
  for (const stream of [server.stdout, server.stderr])
    stream.on('data', (chunk: Buffer) => {
      heard = (heard + chunk.toString()).slice(-2_000);
    });
  try {
    await until(async () => {
      if (server.exitCode !== null) throw new Error(`the server of ${system.name} ended: ${heard}`);
      return (await fetch(`${url}${healthy}`).catch(() => null))?.ok === true;
    }, START_MS);
    const before = await bytesIn(folder);
    const said = await runScript(python, system.script, [url, `${episodes}`, `${batch}`], { ...env, HOME: folder });
    const bytes = (await bytesIn(folder)) - before;
    return { ...said, batch, bytes: said.durable_s === null ? null : bytes };
  } finally {
    await end(server);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs one of the scripts next to this module. @throws Error with what it said. */
export async function runScript(
  python: string,
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Said> {
  const { stdout } = await promisify(execFile)(python, [join(SCRIPTS, script), ...args], {
    env: childEnvironment({ PYTHONDONTWRITEBYTECODE: '1', ...env }),
    timeout: LONGEST_MS,
    maxBuffer: 2 ** 24,
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Said; // as the script writes it
}

async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(names.map(async (name) => stat(join(folder, name)).catch(() => null)));
  return sizes.reduce((sum, each) => sum + (each?.isFile() ? each.size : 0), 0);
}

async function end(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || server.exitCode !== null) return;
  const ended = new Promise((resolve) => server.once('close', resolve));
  process.kill(-server.pid, 'SIGKILL');
  await ended;
}
