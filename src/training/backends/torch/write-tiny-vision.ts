import { execFile } from 'node:child_process';
import { pythonEnvironment } from '../../../runtime/python-server.ts';
import { BackendFailed } from './python-process.ts';

const WRITE_MS = 180_000; // the first import of torch and transformers on a cold disk takes most of it

/**
 * Writes the folder of a tiny vision-language model with random weights. @throws BackendFailed where the interpreter lacks a
 * package.
 */
export async function writeTinyVision(python: string, folder: string): Promise<void> {
  const command = ['-m', 'espalier_rl.trainer.tiny', '--family', 'qwen2.5-vl', '--context', '8192', '--out', folder];
  const env = pythonEnvironment();
  await new Promise<void>((resolve, reject) => {
    execFile(python, command, { env, timeout: WRITE_MS }, (error, _stdout, stderr) => {
      const last = stderr.trim().split('\n').at(-1) ?? '';
      if (error) reject(new BackendFailed('refused', `no tiny model was written to ${folder}: ${last || error.message}`, stderr));
      else resolve();
    });
  });
}
