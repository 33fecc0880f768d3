import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childEnvironment } from '../../../src/runtime/config.ts';
import { freePort } from '../../../src/runtime/free-port.ts';
import { until } from '../../../src/testing/until.ts';
import type { System } from './systems.ts';

export const SCRIPTS = fileURLToPath(new URL('.', import.meta.url));
const run = promisify(execFile);
const START_MS = 300_000;
const RECORD_MS = 600_000;
const INSTALL_MS = 1_800_000; // most of a gigabyte each

/** What a script prints. Seconds; `durable_s` is null where nothing ever is. */
export interface Reply {
  readonly steps: number;
  readonly fetched: number;
  readonly sent_s: number;
  readonly durable_s: number | null;
  readonly queryable_s: number;
  readonly fetch_s: number;
}
export interface Measured extends Reply {
  /** Bytes on disk for the work; null where none are. */
  readonly bytes: number | null;
}

/**
 * Returns a Python that has these packages of PyPI, in a folder of the cache that is named by their pins; installs it where it is
 * not there yet. @throws Error with what pip printed.
 */
export async function installPython(pins: readonly string[]): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const name = createHash('sha256').update(pins.join('\n')).digest('hex').slice(0, 12);
  const folder = join(cache, 'espalier', `side-by-side-${name}`);
  const python = join(folder, 'bin', 'python');
  if (existsSync(join(folder, 'complete'))) return python;
  process.stderr.write(`side-by-side: installing ${pins.join(' ')}\n`);
  await run('python3', ['-m', 'venv', '--clear', folder]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--prefer-binary', ...pins];
  await run(python, pip, { timeout: INSTALL_MS, maxBuffer: 2 ** 24 });
  await writeFile(join(folder, 'complete'), pins.join('\n'));
  return python;
}

/** Records the work into a server of the system, in a folder of its own. */
export async function measureSystem(system: System, python: string, episodes: number): Promise<Measured> {
  if (system.steps === null) throw new Error(`${system.name} records no steps`);
  const { script, batch } = system.steps;
  return withServer(system, python, async ({ url, folder, env }) => {
    const before = await bytesIn(folder);
    const reply: Reply = await runScript(python, join(SCRIPTS, script), [url, `${episodes}`, `${batch}`], env);
    const bytes = (await bytesIn(folder)) - before;
    return { ...reply, bytes: reply.durable_s === null ? null : bytes };
  });
}

/** A server of a system, which can go away. */
export interface RunningServer {
  readonly url: string;
  readonly folder: string;
  /** What its clients are given. */
  readonly env: Readonly<Record<string, string>>;
  /** Kills it. */
  leave(): Promise<void>;
  /** Starts it again, at the same address with what it kept. */
  comeBack(): Promise<void>;
}

/** Starts a server of the system in a folder of its own, which goes with it when the work is done. */
export async function withServer<T>(system: System, python: string, work: (server: RunningServer) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-side-by-side-'));
  const home = await mkdtemp(join(tmpdir(), 'espalier-side-by-side-home-')); // of its clients
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { args, env, healthy } = await system.server(folder, port);
  let server: ChildProcess | null = null;
  const start = async () => {
    const child = spawn(python, args, {
      cwd: folder,
      env: childEnvironment({ ...env, HOME: folder }),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // it may start workers: all are ended together
    });
    server = child;
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        printed = (printed + chunk.toString()).slice(-2_000);
      });
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`the server of ${system.name} ended: ${printed}`);
      return (await fetch(`${url}${healthy}`).catch(() => null))?.ok === true;
    }, START_MS);
  };
  const leave = async () => {
    if (server !== null) await end(server);
    server = null;
  };
  try {
    await start();
    return await work({ url, folder, env: { ...env, HOME: home }, leave, comeBack: start });
  } finally {
    await leave();
    await Promise.all([folder, home].map((each) => rm(each, { recursive: true, force: true })));
  }
}

/** Runs a script; returns the object that it prints last. @throws Error with what it printed. */
export async function runScript<T>(
  python: string,
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<T> {
  const { stdout } = await run(python, [script, ...args], {
    env: childEnvironment({ PYTHONDONTWRITEBYTECODE: '1', ...env }),
    timeout: RECORD_MS,
    maxBuffer: 2 ** 24,
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as T; // as the script writes it
}

/** Returns the bytes of the files in a folder. */
export async function bytesIn(folder: string): Promise<number> {
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
