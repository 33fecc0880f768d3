import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ROLES, type RoleName, SCOPED_ROLES, type ScopedRoleName } from '../../app/roles.ts';

/** A worker in a process of its own, with this process's environment; its log lines go to a file. */
export interface WorkerProcess {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** Resolves with the exit code when it ends; -1 when a signal ended it. */
  readonly ended: Promise<number>;
  stop(): Promise<void>;
  /** Ends it with SIGKILL: it has no time to do anything. */
  kill(): Promise<void>;
}

/** Runs the compiled form of this program. */
const RUN = fileURLToPath(new URL('../../../bin/espalier.js', import.meta.url));
const READY_MS = 60_000;
const STOP_MS = 15_000;

/**
 * Starts `espalier serve` with a role and waits until it is at work. Returns the fields of the line that says so (the address of an
 * API, say) with the process.
 * @throws Error with the end of its log when it ends before, or says nothing for a minute.
 */
export async function startWorker(
  name: RoleName | ScopedRoleName,
  words: readonly string[],
  logs: string,
): Promise<WorkerProcess & { readonly said: Readonly<Record<string, unknown>> }> {
  const { ready } = { ...ROLES, ...SCOPED_ROLES }[name];
  await mkdir(logs, { recursive: true });
  const logFile = join(logs, `${name}.log`);
  const out = createWriteStream(logFile, { flags: 'a' });
  const child = spawn(process.execPath, [RUN, 'serve', name, ...words], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)));
  const lines = createInterface({ input: child.stderr });
  let last = '';
  const said = new Promise<Record<string, unknown>>((resolve) => {
    lines.on('line', (line) => {
      out.write(`${line}\n`);
      last = line;
      const fields = fieldsOf(line);
      if (fields?.message === ready) resolve(fields);
    });
  });
  const late = new AbortController();
  const outcome = await Promise.race([
    said,
    ended.then((code) => `ended with code ${code}`),
    delay(READY_MS, `was not ready within ${READY_MS / 1_000} s`, { signal: late.signal }),
  ]);
  late.abort();
  const stop = () => stopChild(child, ended);
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  if (typeof outcome !== 'string') return { name, pid: child.pid ?? -1, logFile, ended, stop, kill, said: outcome };
  await stop();
  throw new Error(`worker ${name} ${outcome}: ${fieldsOf(last)?.message ?? last} (its log: ${logFile})`);
}

function fieldsOf(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    // JSON objects have string keys
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

async function stopChild(child: ReturnType<typeof spawn>, ended: Promise<number>): Promise<void> {
  child.kill('SIGTERM');
  const late = new AbortController();
  const forced = delay(STOP_MS, undefined, { signal: late.signal }).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  );
  await ended;
  late.abort();
  await forced;
}
