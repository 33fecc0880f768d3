import type { EnvironmentKind } from '../environment.ts';
import { type PythonCommand, startPython } from '../http/python-process.ts';
import { StartGate } from '../http/start-gate.ts';
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
