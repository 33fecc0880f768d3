import { readConfig } from '../../runtime/config.ts';
import { type PythonServer, PythonServerFailed, startPythonServer } from '../../runtime/python-server.ts';
import { EnvironmentError } from '../environment.ts';

const START_MS = 120_000; // what the user's file imports is read from disk
const SHOWN = 5; // lines

/**
 * Starts `python -m espalier_rl serve FILE#CLASS` (or `serve-tools FILE#NAME`). @throws EnvironmentError with the last lines that
 * Python wrote.
 */
export async function startPython(command: 'serve' | 'serve-tools', place: string): Promise<PythonServer> {
  const python = readConfig().python ?? 'python3';
  const args = ['-m', 'espalier_rl', command, place, '--port', '0', '--end-with-stdin'];
  return startPythonServer(python, args, START_MS).catch((cause: unknown) => {
    if (!(cause instanceof PythonServerFailed)) throw cause;
    const said = cause.lines.slice(-SHOWN).join(' | ') || 'it wrote nothing';
    throw new EnvironmentError(
      'unknown-task',
      `${python} -m espalier_rl ${command} ${place} did not start (${cause.message}): ${said}; name the interpreter by ESPALIER_PYTHON`,
      { cause },
    );
  });
}
