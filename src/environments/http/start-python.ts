import { readConfig } from '../../runtime/config.ts';
import { type PythonServer, PythonServerFailed, startPythonServer } from '../../runtime/python-server.ts';
import { EnvironmentError } from '../environment.ts';

const START_MS = 120_000; // what the user's file imports is read from disk
const SHOWN = 5; // lines

/** What is served, by the words of `python -m espalier_rl`. */
export type PythonCommand =
  | readonly ['serve' | 'serve-tools' | 'serve-reward', place: string]
  /** In the Python that has the packages of published environments. */
  | readonly ['serve-published', name: string, ...options: readonly string[]];

/**
 * Starts `python -m espalier_rl serve FILE#CLASS` (or what else is asked). @throws EnvironmentError with the last lines that
 * Python wrote.
 */
export async function startPython(...command: PythonCommand): Promise<PythonServer> {
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
