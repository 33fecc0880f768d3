import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { nodeArguments } from './bundle-programs.ts';

/** A process of this program, started for a test: what it said, and how it ended. */
export interface ChildProcess {
  readonly pid: number;
  /** Everything written so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves with the exit code, or with the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** Waits for the end. @throws Error with all it said when it takes longer. */
  endedWithin(ms: number): Promise<number | string>;
  /** Waits for a line of stderr that fits. @throws Error with all it said when it ends, or says nothing that fits in time. */
  saying(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>;
  /** Waits until stdout fits. @throws Error with the end of stderr when it ends first, or prints nothing that fits in time. */
  printing(pattern: RegExp, timeoutMs: number): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  /** Writes to its standard input, where it was started with one. */
  type(text: string): void;
}

const SAID = 4_000; // characters of stderr in a failure
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const children = new Set<ReturnType<typeof spawn>>();

/**
 * Starts a script of this repository in a process of its own, with nothing of the test's environment but what `env` says and the
 * path.
 * @param script relative to the repository.
 */
export function startProcess(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  input: 'none' | 'typed' = 'none',
): ChildProcess {
  return startNode([...nodeArguments(script), ...args], script, env, input);
}

/** Starts `espalier serve` with a role. @param words what it works on. */
export function startRole(role: string, env: Readonly<Record<string, string>>, ...words: readonly string[]): ChildProcess {
  return startProcess('src/cli/main.ts', ['serve', role, ...words], env);
}

/** Starts node with these arguments. @param script what to call it when it fails. */
export function startNode(
  args: readonly string[],
  script: string,
  env: Readonly<Record<string, string>>,
  input: 'none' | 'typed' = 'none',
): ChildProcess {
  return startProgram([process.execPath, ...args], script, env, input);
}

/** Starts a program with its arguments. @param script what to call it when it fails. */
export function startProgram(
  [program = '', ...args]: readonly string[],
  script: string,
  env: Readonly<Record<string, string>>,
  input: 'none' | 'typed' = 'none',
): ChildProcess {
  const child = spawn(program, args, {
    cwd: ROOT, // where `tsx` is found
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined); // it may end before all was read
  if (input === 'none') child.stdin.end();
  children.add(child);
  const said = { stdout: '', stderr: '' };
  const printed = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
    for (const look of printed) look();
  });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line);
    said.stderr += `${line}\n`;
    for (const look of waiting) look();
  });
  // `close` comes after the last output, `exit` may come before it.
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => {
      children.delete(child);
      resolve(code ?? signal ?? -1);
    });
  });
  return {
    pid: child.pid ?? -1,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    ended,
    kill: (signal) => void child.kill(signal),
    type: (text) => void child.stdin.write(text),
    async endedWithin(ms) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`${script} did not end in ${ms} ms; it said:\n${said.stderr}`)), ms);
      });
      return Promise.race([ended, late]).finally(() => clearTimeout(timer));
    },
    async printing(pattern, timeoutMs) {
      let look: () => void = () => undefined;
      let timer: NodeJS.Timeout | undefined;
      const found = new Promise<RegExpExecArray>((resolve, reject) => {
        const fail = (why: string) =>
          reject(new Error(`${script} ${why} before it printed ${pattern}; stderr ends with:\n${said.stderr.slice(-SAID)}`));
        look = () => {
          const match = pattern.exec(said.stdout);
          if (match) resolve(match);
        };
        printed.add(look);
        look();
        void ended.then((code) => fail(`ended with ${code}`));
        timer = setTimeout(() => fail(`took more than ${timeoutMs} ms`), timeoutMs);
      });
      return found.finally(() => {
        clearTimeout(timer);
        printed.delete(look);
      });
    },
    async saying(pattern, timeoutMs = 90_000) {
      let look: () => void = () => undefined;
      let timer: NodeJS.Timeout | undefined;
      const found = new Promise<RegExpExecArray>((resolve, reject) => {
        const fail = (why: string) => reject(new Error(`${script} ${why} before it said ${pattern}; it said:\n${said.stderr}`));
        look = () => {
          for (const line of lines) {
            const match = pattern.exec(line);
            if (match) return resolve(match);
          }
        };
        waiting.add(look);
        look();
        void ended.then((code) => {
          look();
          fail(`ended with ${code}`);
        });
        timer = setTimeout(() => fail(`took more than ${timeoutMs} ms`), timeoutMs);
      });
      return found.finally(() => {
        clearTimeout(timer);
        waiting.delete(look);
      });
    },
  };
}

let running = 0;

/**
 * Runs a command of `espalier` to its end: in this process, which starts in no time. A second one at the same time takes a
 * process of its own, since both print to the same streams.
 */
export async function runEspalier(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  if (running > 0) return runInProcess(args, env);
  running++;
  try {
    return await runHere(args, env);
  } finally {
    running--;
  }
}

/** Runs a command of `espalier` to its end in a process of its own. */
export async function runInProcess(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  const child = startProcess('src/cli/main.ts', args, env);
  const code = await child.ended;
  return { code, stdout: child.stdout(), stderr: child.stderr() };
}

async function runHere(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  const { runCli } = await import('../cli/run-cli.ts');
  const { env: own, exitCode } = process;
  const said = { stdout: '', stderr: '' };
  const restore = (['stdout', 'stderr'] as const).map((name) => {
    const { write } = process[name];
    process[name].write = (text: unknown, encoding?: unknown, done?: unknown) => {
      said[name] += Buffer.isBuffer(text) ? text.toString() : String(text);
      const callback = typeof encoding === 'function' ? encoding : done;
      if (typeof callback === 'function') queueMicrotask(() => callback());
      return true;
    };
    return () => {
      process[name].write = write;
    };
  });
  process.env = { PATH: own.PATH, HOME: own.HOME, ...env };
  process.exitCode = undefined;
  try {
    await runCli(args);
    return { code: process.exitCode ?? 0, ...said };
  } finally {
    process.env = own;
    process.exitCode = exitCode;
    for (const back of restore) back();
  }
}

export interface Ended {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Kills what a failed test left behind; for `afterAll`. */
export async function killRunning(): Promise<void> {
  const ends = [...children].map((child) => new Promise((resolve) => child.once('close', resolve)));
  for (const child of children) child.kill('SIGKILL');
  await Promise.all(ends);
}
