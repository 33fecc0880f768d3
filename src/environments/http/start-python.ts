import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { childEnvironment, readConfig } from '../../runtime/config.ts';
import { EnvironmentError } from '../environment.ts';

const PACKAGE = fileURLToPath(new URL('../../../python', import.meta.url));
const START_MS = 120_000; // what the user's file imports is read from disk
const LINES = 50; // of standard error that are kept for a message

export interface PythonServer {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts `python -m espalier_rl serve FILE#CLASS` (or `serve-tools FILE#NAME`) on a free port of loopback; it ends with this
 * process. @throws EnvironmentError with the last lines that Python wrote.
 */
export async function startPython(command: 'serve' | 'serve-tools', place: string): Promise<PythonServer> {
  const python = readConfig().python ?? 'python3';
  const child = spawn(python, ['-m', 'espalier_rl', command, place, '--port', '0', '--end-with-stdin'], {
    env: childEnvironment({ PYTHONPATH: PACKAGE, PYTHONDONTWRITEBYTECODE: '1' }),
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const lines: string[] = [];
  const gone = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(`it ended with ${code ?? signal}`));
  });
  const listening = new Promise<string>((resolve) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (lines.push(line) > LINES) lines.shift();
      const url = /^listening on (http:\S+)$/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
  const close = async () => {
    child.kill('SIGKILL'); // it holds nothing that is not in the record
    await gone;
  };
  let limit: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    limit = setTimeout(() => resolve(`it took more than ${START_MS / 1_000} s`), START_MS);
  });
  const failed = Promise.race([gone, late]).then((why) => ({ why }));
  const first = await Promise.race([listening, failed]);
  clearTimeout(limit);
  if (typeof first === 'string') return { url: first, close };
  await close();
  throw new EnvironmentError(
    'unknown-task',
    `${python} -m espalier_rl ${command} ${place} did not start (${first.why}): ${lines.slice(-5).join(' | ') || 'it wrote nothing'}; name the interpreter by ESPALIER_PYTHON`,
  );
}
