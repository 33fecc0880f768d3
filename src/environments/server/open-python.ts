import type { EnvironmentKind } from '../environment.ts';
import { type PythonCommand, startPython } from '../http/start-python.ts';
import { surviving } from '../surviving.ts';
import { openServer } from './open-server.ts';

const PATIENCE_MS = 1_000; // nobody starts it again when it has crashed

/**
 * Opens an environment in a Python process that is started for it and ends with it. @param timeout the limit for one request, in
 * seconds. @throws EnvironmentError with what Python wrote.
 */
export async function openPython(timeout: number, ...command: PythonCommand): Promise<EnvironmentKind> {
  const server = await startPython(...command);
  try {
    const kind = await openServer({ url: server.url, timeoutMs: timeout * 1_000, patienceMs: PATIENCE_MS });
    const close = async () => {
      await kind.close();
      await server.close();
    };
    return surviving({ ...kind, close });
  } catch (error) {
    await server.close();
    throw error;
  }
}
