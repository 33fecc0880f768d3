import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Answer } from './inside.ts';
import { Broken, LIMIT_MS, type Outcome } from './target.ts';

/** The other process, from outside. */
export interface Inside {
  readonly pid: number;
  /** Returns it one case. @throws Broken when it breaks a rule, ends, or is not done in time; then it is killed. */
  ask(target: string, sent: unknown): Promise<Outcome>;
  stderr(): string;
  /** Whether it still lives. */
  alive(): boolean;
  close(): Promise<void>;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CLOSE_MS = 15_000; // one that hangs does not hear that it is to end
const READY_MS = 90_000;
const HEAP_MB = 1_024; // a bomb that is not met at a limit of ours is met at this one, and ends the process

/** Starts it and waits until it is ready. */
export async function startInside(env: Readonly<Record<string, string>>): Promise<Inside> {
  const child = fork(fileURLToPath(new URL('inside.ts', import.meta.url)), [], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    execArgv: ['--import', 'tsx', `--max-old-space-size=${HEAP_MB}`],
    serialization: 'advanced', // half surrogates and −0 arrive as they are
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  let over = false;
  let onEnd: (how: string) => void = () => undefined;
  const ended = new Promise<void>((resolve) =>
    child.once('exit', (code, signal) => {
      over = true;
      onEnd(`${signal ?? code}`);
      resolve();
    }),
  );
  const next = <T>(send: () => void, limitMs: number) =>
    new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        child.kill('SIGKILL');
        reject(new Broken(`stuck: no answer after ${limitMs} ms`));
      }, limitMs);
      onEnd = (how) => reject(new Broken(`the process ended with ${how}: ${said.slice(-1_500)}`));
      child.once('message', (answer) => {
        clearTimeout(timer);
        onEnd = () => undefined;
        resolve(answer as T); // what inside.ts sends
      });
      send();
    });
  await next<'ready'>(() => undefined, READY_MS).catch((error: unknown) => {
    throw new Error(
      `the process that is tried from inside was not ready within ${READY_MS / 1_000} s; run again when the machine is less busy`,
      {
        cause: error,
      },
    );
  });
  return {
    pid: child.pid ?? -1,
    stderr: () => said,
    alive: () => !over,
    async ask(target, sent) {
      if (over) throw new Broken('the other process is gone');
      const answer = await next<Answer>(() => child.send({ target, sent }), LIMIT_MS);
      if (answer.kind === 'broken') throw new Broken(answer.message);
      return answer.outcome;
    },
    async close() {
      if (over) return;
      child.disconnect();
      const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}
