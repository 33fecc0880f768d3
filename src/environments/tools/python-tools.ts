import { EnvironmentError } from '../environment.ts';
import { startPython } from '../http/start-python.ts';
import { type Tool, ToolError } from './tool.ts';
import { openToolServer } from './tool-server.ts';

/**
 * Opens the functions of a Python file that are marked by `espalier_rl.tool`, or the one that is named behind `#`, in a process
 * that is started for them. @throws ToolError.
 */
export async function openPythonTools(place: string, timeoutMs: number): Promise<readonly Tool[]> {
  const server = await startPython('serve-tools', place).catch((error: unknown) => {
    throw error instanceof EnvironmentError ? new ToolError(error.message, { cause: error }) : error;
  });
  try {
    return await openToolServer(server.url, timeoutMs, server.close);
  } catch (error) {
    await server.close();
    throw error;
  }
}
