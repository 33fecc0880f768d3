import { setTimeout as delay } from 'node:timers/promises';
import { readConfig } from '../../runtime/config.ts';
import { type PythonServer, PythonServerFailed, startPythonServer } from '../../runtime/python-server.ts';
import { EnvironmentError } from '../environment.ts';

const START_MS = 120_000; // what the user's file imports is read from disk
const SHOWN = 5; // lines
const EXIT_MS = 10_000; // from broken connections to the exit that is seen: memory is freed in between
const UNANSWERED: ReadonlySet<EnvironmentError['code']> = new Set(['unreachable', 'gone']);

/** What is served, by the words of `python -m espalier_rl`. */
export type PythonCommand =
  | readonly ['serve' | 'serve-tools' | 'serve-reward', place: string]
  /** In the Python that has the packages of published environments. */
  | readonly ['serve-published', name: string, ...options: readonly string[]];

/** A Python server that this program starts, and starts again when its process has ended. */
export interface PythonProcess {
  /** What messages call it, in place of an address on this machine. */
  readonly name: string;
  /** The address of the first process; later ones listen elsewhere. */
  readonly url: string;
  /**
   * Sends a request to the running process. One that does not answer in time is replaced, and ended when no other request waits
   * for it. @throws EnvironmentError `lost` with the exit code or the limit when the process was lost over the request;
   * `retryable` says whether other requests were in flight, any of which may have caused that.
   */
  ask<T>(request: (baseUrl: URL) => Promise<T>): Promise<T>;
  /** Has every process that replaces another one compared with the first one before it receives requests. */
  onRestart(isSame: (baseUrl: URL) => Promise<boolean>): void;
  close(): Promise<void>;
}

interface Running {
  readonly server: PythonServer;
  readonly baseUrl: URL;
  /** The requests in flight: each is rejected when the process ends. */
  readonly inFlight: Set<(error: EnvironmentError) => void>;
  /** It has ended or is not asked any more. */
  isReplaced: boolean;
}

/**
 * Starts `python -m espalier_rl serve FILE#CLASS` (or another command). The caller closes it. @throws EnvironmentError with the
 * last lines that Python wrote.
 */
export async function startPython(...command: PythonCommand): Promise<PythonProcess> {
  const [, name] = command;
  let isSame = async (_baseUrl: URL): Promise<boolean> => true;
  let closed = false;
  const first = await start(command);
  const alive = new Set([first]); // and those that have ended: few
  let current: Promise<Running> = Promise.resolve(first);

  async function restart(): Promise<Running> {
    if (closed) throw new EnvironmentError('gone', `${name} was closed`);
    const running = await start(command);
    alive.add(running);
    try {
      if (closed) throw new EnvironmentError('gone', `${name} was closed`);
      if (await isSame(running.baseUrl)) return running;
      throw new EnvironmentError(
        'unknown-task',
        `${name} was changed since this program opened it, and its process had to be started again; put back what was opened, or begin a new run`,
      );
    } catch (error) {
      await running.server.close();
      throw error;
    }
  }

  async function running(): Promise<Running> {
    const last = await current;
    if (!last.isReplaced) return last;
    const next = current.then((latest) => (latest.isReplaced ? restart() : latest));
    current = next.catch(() => last); // the next request tries again
    return next;
  }

  return {
    name,
    url: first.server.url,
    async ask(request) {
      const process = await running();
      const { inFlight, server, baseUrl } = process;
      let onEnd = (_error: EnvironmentError): void => undefined;
      const ended = new Promise<never>((_, reject) => {
        onEnd = reject;
      });
      ended.catch(() => undefined);
      inFlight.add(onEnd);
      try {
        const answer = request(baseUrl);
        answer.catch(() => undefined); // nobody waits for it when the process ends first
        return await Promise.race([answer, ended]);
      } catch (error) {
        if (!(error instanceof EnvironmentError) || !UNANSWERED.has(error.code)) throw error;
        // a connection breaks before the exit is seen; what is late runs
        if (error.cause !== undefined) await Promise.race([ended, delay(EXIT_MS, undefined, { ref: false })]);
        process.isReplaced = true;
        throw lost(error.message, inFlight.size);
      } finally {
        inFlight.delete(onEnd);
        if (process.isReplaced && inFlight.size === 0) await server.close();
      }
    },
    onRestart(then) {
      isSame = then;
    },
    async close() {
      closed = true;
      await Promise.all([...alive].map(({ server }) => server.close()));
    },
  };
}

async function start(command: PythonCommand): Promise<Running> {
  const server = await startServer(command);
  const running: Running = { server, baseUrl: new URL(server.url), inFlight: new Set(), isReplaced: false };
  void server.gone.then((reason) => {
    running.isReplaced = true;
    const why = `the process of ${command[1]} has ended (${[reason, ...server.lines.slice(-1)].join(': ')})`;
    const error = lost(why, running.inFlight.size);
    for (const onEnd of running.inFlight) onEnd(error);
  });
  return running;
}

function lost(message: string, inFlight: number): EnvironmentError {
  return new EnvironmentError('lost', message, { retryable: inFlight > 1 });
}

function startServer(command: PythonCommand): Promise<PythonServer> {
  const config = readConfig();
  const [python, variable] =
    command[0] === 'serve-published'
      ? [config.worldsPython ?? 'python3', 'ESPALIER_WORLDS_PYTHON']
      : [config.python ?? 'python3', 'ESPALIER_PYTHON'];
  const args = ['-m', 'espalier_rl', ...command, '--port', '0', '--end-with-stdin'];
  return startPythonServer(python, args, START_MS).catch((cause: unknown) => {
    if (!(cause instanceof PythonServerFailed)) throw cause;
    const said = cause.lines.slice(-SHOWN).join(' | ') || 'it wrote nothing';
    throw new EnvironmentError(
      'unknown-task',
      `${python} -m espalier_rl ${command.join(' ')} did not start (${cause.message}): ${said}; name the interpreter by ${variable}`,
      { cause },
    );
  });
}
