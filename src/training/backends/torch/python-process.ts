import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { cutFront } from '../../../domain/text/cut-text.ts';
import { pythonEnvironment } from '../../../runtime/python-server.ts';
import { BackendFailed, failureCode } from './backend-failed.ts';
import { type Frame, frameReader, writeFrame } from './frames.ts';

/** Raised with `PROTOCOL` of python/espalier_rl/trainer. */
const PROTOCOL = 1;
const HELLO_MS = 180_000; // the first import of torch on a cold disk takes most of a minute
const STDERR_KEPT = 4_000; // characters: a Python traceback and what came before it

export interface PythonProcess {
  /** What there is: versions of the package, Python and torch, and the name of the CUDA device or null. */
  readonly facts: Readonly<Record<string, unknown>>;
  readonly pid: number;
  /**
   * Asks one thing; one at a time. An aborted signal or a time-out kills the process, for there is no other way to stop it.
   * @throws BackendFailed; the signal's reason when it was aborted.
   */
  request(
    message: Readonly<Record<string, unknown>> & { readonly kind: string },
    options: { readonly timeoutMs: number; readonly signal: AbortSignal; readonly body?: readonly Uint8Array[] },
  ): Promise<Frame>;
  /** Whether it is gone. */
  ended(): boolean;
  /** Ends it with everything that it started, and waits until it is gone. */
  close(): Promise<void>;
}

/**
 * Starts `python -m espalier_rl.trainer` in a process group of its own and shakes hands; several processes by torchrun, of which
 * the first answers. @throws BackendFailed.
 */
export async function startPython(python: string, signal: AbortSignal, processes = 1): Promise<PythonProcess> {
  const env = pythonEnvironment();
  const torchrun = ['-m', 'torch.distributed.run', '--standalone', `--nproc-per-node=${processes}`];
  const command = [...(processes > 1 ? torchrun : []), '-m', 'espalier_rl.trainer'];
  // Detached: the child leads a group, so that what it starts (compilers, data loaders) can be ended with it.
  const child = spawn(python, command, { env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const connection = connect(child);
  try {
    const { message } = await connection.request({ kind: 'hello', protocol: PROTOCOL }, { timeoutMs: HELLO_MS, signal });
    const { id: _id, kind: _kind, ...facts } = message;
    return { ...connection, facts };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function connect(child: ChildProcessWithoutNullStreams): Omit<PythonProcess, 'facts'> {
  let said = '';
  let failed: BackendFailed | null = null;
  let waiting: { readonly id: number; settle(answer: Frame | BackendFailed): void } | null = null;
  let ids = 0;
  const settle = (answer: Frame | BackendFailed) => {
    const waiter = waiting;
    waiting = null;
    waiter?.settle(answer);
  };
  const fail = (failure: BackendFailed) => {
    failed ??= failure;
    settle(failed);
  };
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = cutFront(said + text, STDERR_KEPT);
  });
  const gone = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      fail(new BackendFailed('ended', `the training process did not start: ${error.message}`));
      resolve();
    });
    // `close` comes after the last of stderr, `exit` may come before it.
    child.once('close', (code, name) => {
      fail(new BackendFailed('ended', `the training process ended with ${code ?? name}`, said.trim()));
      resolve();
    });
  });
  const kill = () => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    try {
      process.kill(-child.pid, 'SIGKILL'); // nothing is lost: checkpoints are whole or not there
    } catch {
      child.kill('SIGKILL'); // the group is gone, or never was
    }
  };
  const failureOf = ({ message: { code, message } }: Frame) =>
    new BackendFailed(failureCode(code), String(message), code === 'fault' ? said.trim() : '');
  const read = frameReader();
  child.stdout.on('data', (chunk: Uint8Array) => {
    try {
      for (const frame of read(chunk)) {
        const { id, kind } = frame.message;
        if (id === waiting?.id) settle(frame);
        // Of several processes, one that fails after the first has answered: torchrun ends them all.
        else if (kind === 'error' && Number(id) <= ids) fail(failureOf(frame));
        else throw new RangeError(`an answer to ${String(id)}, which nobody asked`);
      }
    } catch (error) {
      fail(new BackendFailed('protocol', `the training process sent no frame: ${messageOf(error)}`, said.trim()));
      kill();
    }
  });
  child.stdin.on('error', () => undefined); // it is gone: `close` reports why

  return {
    pid: child.pid ?? -1,
    ended: () => failed !== null,
    async request(message, { timeoutMs, signal, body = [] }) {
      signal.throwIfAborted();
      if (failed) throw failed;
      if (waiting) throw new BackendFailed('protocol', 'the training process is asked two things at once');
      const id = ++ids;
      const answered = new Promise<Frame | BackendFailed>((resolve) => {
        waiting = { id, settle: resolve };
      });
      const late = new BackendFailed(
        'timeout',
        `${message.kind} took longer than ${timeoutMs} ms; the training process was ended`,
      );
      const stop = (why: BackendFailed) => {
        fail(why);
        kill();
      };
      const onAbort = () =>
        stop(new BackendFailed('ended', 'the training process was ended because its work is not wanted any more'));
      const timer = setTimeout(() => stop(late), timeoutMs);
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        for (const part of writeFrame({ ...message, id }, body)) child.stdin.write(part);
        const answer = await answered;
        signal.throwIfAborted();
        if ('code' in answer) throw answer;
        if (answer.message.kind === 'ok') return answer;
        throw failureOf(answer);
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      }
    },
    async close() {
      kill();
      await gone;
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
