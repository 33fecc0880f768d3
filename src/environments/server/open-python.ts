import { z } from 'zod';
import type { EnvironmentKind } from '../environment.ts';
import { defineEnvironment } from '../environment-entry.ts';
import { type PythonCommand, startPython } from '../http/python-process.ts';
import { StartGate } from '../http/start-gate.ts';
import { text, whole } from '../option-kinds.ts';
import { readPairs } from '../read-address.ts';
import { withRestart } from '../with-restart.ts';
import { openServer } from './open-server.ts';

/**
 * Opens an environment in a Python process that is started for it and ends with it. One that ends or hangs in the middle is
 * started again. @param timeout the limit for one request, in seconds. @throws EnvironmentError with what Python wrote.
 */
export async function openPython(timeout: number, ...command: PythonCommand): Promise<EnvironmentKind> {
  const process = await startPython(...command);
  try {
    const kind = await openServer({ url: process.url, timeoutMs: timeout * 1_000, patienceMs: 0, process });
    const close = async () => {
      await kind.close();
      await process.close();
    };
    return withRestart({ ...kind, close }, new StartGate());
  } catch (error) {
    await process.close();
    throw error;
  }
}

/** An environment of the user's in Python, as in `python:./guess.py#Guess`: served by a process that is started for it. */
export const pythonEnvironment = defineEnvironment({
  name: 'python',
  summary: 'your own, from a Python class derived from espalier_rl.Environment, in a process that is started for it',
  options: z.strictObject({
    file: text('FILE.py[#CLASS]', 'the file, relative to the working folder, and the class where it defines several'),
    timeout: whole(1, 999_999, 'the limit for one request, in seconds').default(300),
  }),
  syntax: {
    form: 'python:FILE.py[#CLASS][;timeout=SECONDS]',
    read: (rest) => {
      const [file = '', ...own] = rest.split(';');
      return { ...readPairs(own.join(';')), file };
    },
  },
  open: ({ file, timeout }) => openPython(timeout, 'serve', file),
});
