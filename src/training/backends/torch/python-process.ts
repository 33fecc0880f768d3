import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { cutFront } from '../../../domain/text/cut-text.ts';
import { openCache } from '../../../runtime/cache.ts';
import { messageOf } from '../../../runtime/message-of.ts';
import { pythonEnvironment } from '../../../runtime/python-server.ts';

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

// Frames as python/espalier_rl/trainer/frames.py has them: ESPF, two little-endian uint32 lengths, a JSON object, raw bytes.

const MAGIC = 'ESPF';
const HEAD = 12;
const LONGEST_JSON = 64 * 2 ** 20;

export interface Frame {
  readonly message: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array;
}

/** Returns the parts of one frame, in order; the body's parts are not copied. */
export function writeFrame(message: Readonly<Record<string, unknown>>, body: readonly Uint8Array[] = []): readonly Uint8Array[] {
  const json = Buffer.from(JSON.stringify(message), 'utf8');
  const bytes = body.reduce((sum, part) => sum + part.byteLength, 0);
  if (json.length > LONGEST_JSON || bytes >= 2 ** 32)
    throw new RangeError(`a frame of ${json.length} + ${bytes} bytes is too long`);
  const head = Buffer.alloc(HEAD);
  head.write(MAGIC, 'latin1');
  head.writeUInt32LE(json.length, 4);
  head.writeUInt32LE(bytes, 8);
  return [head, json, ...body];
}

/**
 * Takes a stream's chunks as they come and returns the frames that are whole. @throws RangeError where the stream holds no frame.
 */
export function frameReader(): (chunk: Uint8Array) => readonly Frame[] {
  let chunks: Uint8Array[] = [];
  let held = 0;
  let wanted = HEAD;
  return (chunk) => {
    chunks.push(chunk);
    held += chunk.byteLength;
    const frames: Frame[] = [];
    while (held >= wanted) {
      const bytes = Buffer.concat(chunks);
      const length = frameLength(bytes);
      wanted = length;
      if (held < length) {
        chunks = [bytes];
        break;
      }
      frames.push(readFrame(bytes.subarray(0, length)));
      const rest = bytes.subarray(length);
      [chunks, held, wanted] = [[rest], rest.length, HEAD];
    }
    return frames;
  };
}

function frameLength(bytes: Buffer): number {
  const magic = bytes.toString('latin1', 0, 4);
  if (magic !== MAGIC) throw new RangeError(`a frame begins with ${MAGIC}, not ${JSON.stringify(magic)}`);
  const json = bytes.readUInt32LE(4);
  if (json > LONGEST_JSON) throw new RangeError(`a message of ${json} bytes is longer than ${LONGEST_JSON}`);
  return HEAD + json + bytes.readUInt32LE(8);
}

function readFrame(bytes: Buffer): Frame {
  const end = HEAD + bytes.readUInt32LE(4);
  const message: unknown = JSON.parse(bytes.toString('utf8', HEAD, end));
  if (typeof message !== 'object' || message === null) throw new RangeError('the message of a frame is not an object');
  return { message: { ...message }, body: Uint8Array.from(bytes.subarray(end)) }; // aligned, and free of the stream's buffer
}

export type FoundPython =
  | { readonly kind: 'found'; readonly python: string; readonly torch: string }
  | { readonly kind: 'none'; readonly reason: string };

// importing torch takes seconds, and a training asks in several places; one that has none is asked again, since it may get it
const known = openCache<FoundPython>({ max: 16 });

/** Looks whether an interpreter has torch: the one that is named, else `python3` of the path. */
export async function findPython(named: string | null): Promise<FoundPython> {
  const python = named ?? 'python3';
  const before = known.get(python);
  if (before) return before;
  const found = await askPython(python);
  if (found.kind === 'found') known.set(python, found);
  return found;
}

async function askPython(python: string): Promise<FoundPython> {
  const said = await new Promise<{ readonly torch: string | null; readonly why: string }>((resolve) => {
    execFile(python, ['-c', 'import torch; print(torch.__version__)'], { timeout: 180_000 }, (error, stdout, stderr) => {
      const last = stderr.trim().split('\n').at(-1) ?? '';
      resolve(error ? { torch: null, why: last === '' ? error.message : last } : { torch: stdout.trim(), why: '' });
    });
  });
  if (said.torch !== null) return { kind: 'found', python, torch: said.torch };
  return { kind: 'none', reason: `${python} has no torch (${said.why}); name one that has it: ESPALIER_PYTHON=/path/to/python` };
}

/**
 * Why a training process gave no answer: it ended or was too slow, spoke another protocol, or said so itself (the codes of
 * `session.py`).
 */
type FailureCode = 'ended' | 'timeout' | 'protocol' | 'refused' | 'not-finite' | 'damaged' | 'memory' | 'fault';

const CODES: readonly FailureCode[] = ['protocol', 'refused', 'not-finite', 'damaged', 'memory', 'fault'];

/** A training process failed; the message ends with the last it said. The batch is given back: nothing of the update is kept. */
export class BackendFailed extends Error {
  override readonly name = 'BackendFailed';
  readonly code: FailureCode;
  constructor(code: FailureCode, message: string, said = '') {
    super(said === '' ? message : `${message}; it said last:\n${said}`);
    this.code = code;
  }
}

/** Reads the code of an error that the process answered with; one that is not known is a fault. */
function failureCode(code: unknown): FailureCode {
  return CODES.find((known) => known === code) ?? 'fault';
}
