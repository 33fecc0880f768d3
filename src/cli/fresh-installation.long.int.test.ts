import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { startEmbeddedPostgres } from '../postgres/embedded-server.ts';
import { until } from '../testing/until.ts';
import { killRunning, startProcess } from '../testing/worker-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const hasPython = spawnSync('python3', ['--version']).status === 0;

let home: string;
let url: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'espalier-fresh-'));
  const up = startProcess('src/cli/main.ts', ['up'], { ESPALIER_HOME: home, ESPALIER_PORT: '0', ESPALIER_LOG_LEVEL: 'error' });
  await until(async () => up.stdout().includes('GraphQL'));
  url = /http:\/\/127\.0\.0\.1:\d+/.exec(up.stdout())?.[0] ?? '';
});
afterEach(async () => {
  await killRunning();
  await (await startEmbeddedPostgres({ folder: join(home, 'postgres') })).close(); // waits until the server of `up` has stopped
  await rm(home, { recursive: true, force: true });
});

/** Runs an example by the command that its guide documents. */
async function example(file: string, ...args: readonly string[]) {
  const env = { ...process.env, ESPALIER_HOME: home }; // where it finds the token
  const child = spawn('python3', [`examples/${file}`, url, ...args], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { stdout, stderr, code };
}

(hasPython ? describe : describe.skip)('a fresh installation', () => {
  test('the example trainer says within seconds what it waits for, and trains as soon as that is there', async () => {
    expect(await example('trainer.py', 'my-policy')).toEqual({
      stdout:
        'no batch: no run feeds it: record rollouts of a run whose config.training is {"policyId": "my-policy", "channel": "train"}\n',
      code: 0,
      stderr: '',
    });
    expect(await example('record_groups.py', 'my-policy')).toMatchObject({ code: 0, stderr: '' });
    const { stdout, stderr, code } = await example('trainer.py', 'my-policy');
    expect(stdout.match(/^batch [01] of 4 samples, 8 tokens: version [12]$/gm)).toHaveLength(2);
    expect(stdout).toMatch(/^no batch: 0 of 2 groups .* every run that feeds it is over/m);
    expect([code, stderr]).toEqual([0, '']);
  });
});
