import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readLedgers } from '../projections/training-pool/read-ledger.ts';
import { SILENT } from '../runtime/logger.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { runAll } from './run-all.ts';

const hasPython = spawnSync('python3', ['--version']).status === 0;
const WEIGHTS = 'a'.repeat(64);

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
let server: Awaited<ReturnType<typeof runAll>>;
beforeAll(async () => {
  platform = await openTestPlatform();
  server = await runAll(platform, SILENT);
});
afterAll(async () => {
  await server.close();
  await platform.close();
});

/** Runs an example as a reader does. */
async function python(example: string, ...args: readonly string[]) {
  const file = fileURLToPath(new URL(`../../examples/${example}`, import.meta.url));
  const child = spawn('python3', [file, server.url, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { stdout, stderr };
}

async function declare(policy: string, body: object) {
  const response = await fetch(`${server.url}/v1/training/policies/${encodeURIComponent(policy)}`, {
    ...{ method: 'PUT', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ backend: 'test', weights: WEIGHTS, ...body }),
  });
  return { status: response.status, body: await response.json() };
}

(hasPython ? describe : describe.skip)('a server that nobody has used', () => {
  test('an agent elsewhere is recorded, and what it records again is a duplicate', async () => {
    const first = await python('record_rollout.py');
    expect(first.stdout).toMatch(/^accepted 6, appended 6, duplicates 0\n\{\n {2}"return": 1,/);
    expect((await python('record_rollout.py')).stdout).toMatch(/^accepted 6, appended 0, duplicates 6\n/);
  });

  test('a trainer elsewhere declares a policy and trains every sample that was recorded for it', async () => {
    expect((await python('record_groups.py', 'my policy')).stdout).toMatch(/^\{"accepted":42,"appended":42,/);
    const { stdout, stderr } = await python('trainer.py', 'my policy');
    const batch = (ordinal: number) =>
      `batch ${ordinal} of 4 samples, 8 tokens: 200 \\{"kind":"acked",.*"version":${ordinal + 1},.*\\}\n`;
    expect(stdout).toMatch(new RegExp(`^${batch(0)}${batch(1)}$`));
    expect(stderr).toBe('no batch: 204 \n');
    expect(await readLedgers(platform.database.db, ['my policy'])).toMatchObject([{ produced: 8, trained: 8, difference: 0 }]);
  });
});

describe('a declaration of a training over HTTP', () => {
  test('repeated it changes nothing, and another one for the same policy is refused', async () => {
    const first = await declare('declared', { rules: { groupsPerBatch: 3 }, estimator: { name: 'rloo' } });
    expect(first).toMatchObject({ status: 200, body: { kind: 'registered', head: { version: 0, weights: WEIGHTS } } });
    expect(await declare('declared', { rules: { groupsPerBatch: 3 }, estimator: { name: 'rloo' } })).toEqual(first);
    for (const other of [
      {},
      { estimator: { name: 'rloo' } },
      { rules: { groupsPerBatch: 3 }, estimator: { name: 'rloo' }, seed: 2 },
    ])
      expect(await declare('declared', other)).toMatchObject({ status: 409, body: { error: { code: 'declared-otherwise' } } });
  });

  test.each([
    [{ estimator: { name: 'nope' } }, 'there is no estimator nope; there are gae, grpo,'],
    [{ estimator: { name: 'grpo', options: { sclae: 1 } } }, 'sclae'],
    [{ rules: { groupPerBatch: 2 } }, 'rules: Unrecognized key: "groupPerBatch"'],
    [{ rules: { groupsPerBatch: 0 } }, 'rules.groupsPerBatch'],
    [{ rules: { rewards: { shaped: 1 } } }, 'the metric environment has no weight among shaped'],
    [{ weights: 'abc' }, 'weights: must be a SHA-256'],
  ])('%j is refused with what is wrong', async (body, message) => {
    const refused = await declare('refused', body);
    expect(refused).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid', message: expect.stringContaining(message) } },
    });
    expect(await readLedgers(platform.database.db, ['refused'])).toEqual([]);
  });
});
