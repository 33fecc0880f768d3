import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from './config.ts';

/** The folder of the Python package that comes with this program. */
export const PYTHON_PACKAGE = fileURLToPath(new URL('../../python', import.meta.url));

/** Returns what a Python that runs this package inherits. @throws ConfigError. */
export function pythonEnvironment() {
  return childEnvironment({ PYTHONPATH: PYTHON_PACKAGE, PYTHONDONTWRITEBYTECODE: '1' });
}

/** A server in Python that was started, on a free port of loopback. */
export interface PythonServer {
  readonly url: string;
  /** The last lines that it wrote to standard error. */
  readonly lines: readonly string[];
  /** Resolves to the reason when its process has ended. */
  readonly gone: Promise<string>;
  /** Kills it: what it holds is on disk or in the record. */
  close(): Promise<void>;
}

/** A server in Python did not start. */
export class PythonServerFailed extends Error {
  override readonly name = 'PythonServerFailed';
  readonly lines: readonly string[];
  constructor(why: string, lines: readonly string[]) {
    super(why);
    this.lines = lines;
  }
}

const LINES = 50;
const LAST_LINES_MS = 500;

/**
 * Starts `python …args`, which writes `listening on URL` to standard error when it serves, and ends when its standard input
 * does: with this process. @throws PythonServerFailed.
 */
export async function startPythonServer(python: string, args: readonly string[], limitMs: number): Promise<PythonServer> {
  const child = spawn(python, args, { env: pythonEnvironment(), stdio: ['pipe', 'ignore', 'pipe'] });
  const lines: string[] = [];
  const gone = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    const ended = (code: number | null, signal: string | null) =>
      resolve(`it ended with ${code === null ? signal : `exit code ${code}`}`);
    child.once('close', ended); // once its last lines are read
    // A program that it started may hold its standard error for ever.
    child.once('exit', (code, signal) => setTimeout(() => ended(code, signal), LAST_LINES_MS).unref());
  });
  const listening = new Promise<{ readonly url: string }>((resolve) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      const url = /^listening on (http:\S+)$/.exec(line)?.[1];
      if (url !== undefined) resolve({ url });
      else if (lines.push(line) > LINES) lines.shift();
    });
  });
  const close = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  let limit: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    limit = setTimeout(() => resolve(`it took more than ${limitMs} ms`), limitMs);
  });
  const first = await Promise.race([listening, gone, late]);
  clearTimeout(limit);
  if (typeof first !== 'string') return { url: first.url, lines, gone, close };
  await close();
  throw new PythonServerFailed(first, lines);
}
