import { spawn } from 'node:child_process';
import { childEnvironment } from '../runtime/config.ts';
import { freePort } from '../runtime/free-port.ts';
import { until } from './until.ts';

const LONGEST_MS = 300_000; // it loads torch

/** Starts `transformers serve` on a free port of loopback, without a model: requests name a folder. */
export async function startTransformersServe(python: string): Promise<{ readonly url: string; close(): void }> {
  const port = await freePort();
  const command = ['-m', 'transformers.cli.transformers', 'serve', '--host', '127.0.0.1', '--port', `${port}`, '--device', 'cpu'];
  const server = spawn(python, command, { env: childEnvironment({ HF_HUB_OFFLINE: '1' }), stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  server.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await until(async () => {
    if (server.exitCode !== null) throw new Error(`transformers serve ended: ${said.slice(-2_000)}`);
    return (await fetch(`http://127.0.0.1:${port}/health`).catch(() => null))?.ok === true;
  }, LONGEST_MS);
  return { url: `http://127.0.0.1:${port}`, close: () => void server.kill('SIGKILL') };
}
