import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

afterAll(killRunning);

test('what keeps `up` from starting is one line, and a stack where --debug asks for it', async () => {
  const home = await mkdtemp(join(tmpdir(), 'espalier-up-'));
  const taken = createServer().listen(0, '127.0.0.1');
  try {
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' && address ? String(address.port) : '';
    const env = (given: string) => ({ ESPALIER_HOME: home, ESPALIER_PORT: given });
    const wrong = await runInProcess(['up'], env('abc'));
    expect(wrong).toMatchObject({ code: 1, stdout: '' });
    expect(wrong.stderr).toBe('espalier: ESPALIER_PORT must be a whole number, not "abc"; correct it, or unset it for 4000\n');
    const inUse = await runInProcess(['up'], env(port));
    expect(inUse.code).toBe(1);
    expect(inUse.stderr).toMatch(/^espalier: port \d+ on 127\.0\.0\.1 is in use; [^\n]*\n$/);
    const debugged = await runInProcess(['--debug', 'up'], env('abc'));
    expect(debugged.stderr.split('\n').length).toBeGreaterThan(2);
  } finally {
    taken.close();
    await rm(home, { recursive: true });
  }
});
