import { EnvironmentError } from '../environment.ts';
import { startPython } from '../http/python-process.ts';
import { type Tool, ToolError } from './tool.ts';
import { openToolServer } from './tool-server.ts';

/**
 * Opens the functions of a Python file that are marked by `espalier_rl.tool`, or the one that is named behind `#`, in a process
 * that is started for them, and again when it has ended. @throws ToolError.
 */
export async function openPythonTools(place: string, timeoutMs: number): Promise<readonly Tool[]> {
  const process = await startPython('serve-tools', place).catch((error: unknown) => {
    throw error instanceof EnvironmentError ? new ToolError(error.message, { cause: error }) : error;
  });
  try {
    return await openToolServer(process.url, timeoutMs, process);
  } catch (error) {
    await process.close();
    throw error;
  }
}
