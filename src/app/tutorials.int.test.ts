import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { readLedgers } from '../projections/training-pool/read-ledger.ts';
import { readLineages } from '../projections/training-pool/read-lineages.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { LOCAL } from '../testing/local-token.ts';
import { declarationSchema } from '../usecases/train/declaration/declaration-schema.ts';
import { trainerPlan } from '../usecases/train/open-backend.ts';
import { useInstallation } from './use-installation-testing.ts';

const hasPython = spawnSync('python3', ['--version']).status === 0;
const WEIGHTS = 'a'.repeat(64);

const installation = useInstallation();

/** Runs an example as a reader does. */
async function python(example: string, ...args: readonly string[]) {
  const file = fileURLToPath(new URL(`../../examples/${example}`, import.meta.url));
  const child = spawn('python3', [file, installation.url, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ESPALIER_HOME: installation.platform.home },
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { stdout, stderr };
}

async function declare(policy: string, body: object) {
  const response = await fetch(`${installation.url}/v1/training/policies/${encodeURIComponent(policy)}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', ...LOCAL },
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
    const batch = (ordinal: number) => `batch ${ordinal} of 4 samples, 8 tokens: version ${ordinal + 1}\n`;
    const over = 'no batch: 0 of 2 groups of the next batch are ready, and every run that feeds it is over: record more groups\n';
    expect([stdout, stderr]).toEqual([batch(0) + batch(1) + over, '']);
    expect(await readLedgers(installation.platform.database.db, ['my policy'])).toMatchObject([
      { produced: 8, trained: 8, difference: 0 },
    ]);
  });
});

const REFUSED = { error: { code: expect.stringMatching(/^(invalid|unprocessable)$/) } };

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

  test('a policy whose name no database stores is not declared', async () => {
    for (const policy of ['a\u0000b', 'n'.repeat(201)]) expect((await declare(policy, {})).body).toMatchObject(REFUSED);
  });

  test('many declarations of one policy at once leave one of them, and the others are refused by what differs', async () => {
    const groups = [2, 3, 4, 5, 6];
    const answers = await Promise.all(groups.map((groupsPerBatch) => declare('raced', { rules: { groupsPerBatch } })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
    const won = groups[answers.findIndex(({ status }) => status === 200)];
    for (const { status, body } of answers.filter((answer) => answer.status === 409))
      expect([status, body.error.message]).toEqual([
        409,
        `the policy raced is declared with another rules.groupsPerBatch (${won})`,
      ]);
    const { rows } = await installation.platform.database.pool.query(
      'select count(*)::int as n from quarantine where stream = $1',
      [answers.find(({ status }) => status === 200)?.body.lineageId],
    );
    expect(rows).toEqual([{ n: 0 }]);
  });

  test('an earlier declaration, which named no computation, is the same as one that names none', async () => {
    const first = await declare('older', { backend: 'first-name' });
    expect(await declare('older', { backend: 'first-name', estimator: { name: 'grpo' } })).toEqual(first);
    const [lineage] = await readLineages(installation.platform.database.db, ['older']);
    expect(lineage?.trainer).toEqual({ backend: 'first-name' });
    expect(await declare('older', { backend: 'first-name', loss: { name: 'gspo' } })).toMatchObject({
      status: 409,
      body: { error: { message: 'the policy older is declared with another settings (none)' } },
    });
  });

  test('the linear policy is declared without weights, by a preset as well, and its first version is made here', async () => {
    const declared = await declare('by preset', { backend: 'linear', weights: undefined, preset: 'agent-r1-grpo' });
    expect(declared).toMatchObject({ status: 200, body: { kind: 'registered', head: { version: 0, backend: 'linear' } } });
    expect(await declare('by preset', { backend: 'linear', weights: undefined, preset: 'agent-r1-grpo' })).toEqual(declared);
    const [lineage] = await readLineages(installation.platform.database.db, ['by preset']);
    expect(lineage).toMatchObject({
      estimator: { name: 'grpo', mode: { scores: 'trained-tokens' } },
      rules: { groupsPerBatch: 128, zeroVariance: 'keep', maxStaleness: 0 },
      trainer: { preset: 'agent-r1-grpo', groupSize: 5, settings: { learningRate: 1e-6, kl: { in: 'loss', kind: 'k3' } } },
    });
    expect(trainerPlan.safeParse(lineage?.trainer).error).toBeUndefined();
  });

  test('a policy whose model torch opens is declared without weights, and a lease waits for its first version', async () => {
    const torch = { model: { kind: 'tiny', layers: 1, width: 16, heads: 2, context: 64 } };
    const body = { backend: 'torch', weights: undefined, torch };
    expect(await declare('torched', body)).toMatchObject({
      status: 200,
      body: { kind: 'declared', next: 'a trainer makes version 0: espalier serve train torched' },
    });
    const asked = { policyId: 'torched', consumer: 'c', ttlMs: 1_000 };
    const response = await fetch(`${installation.url}/v1/training/leases`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...LOCAL },
      body: JSON.stringify(asked),
    });
    expect([response.status, await response.json()]).toMatchObject([202, { state: 'waiting', waitingFor: 'first-version' }]);
  });

  test('a trainer elsewhere declares without weights, registers them later, and learns the newest version from then on', async () => {
    const nameless = { weights: undefined, rules: { groupsPerBatch: 2 } };
    expect(await declare('nameless', nameless)).toMatchObject({
      status: 200,
      body: { kind: 'declared', next: expect.stringContaining('POST /v1/training/policies') },
    });
    const first = { policyId: 'nameless', backend: 'test', weights: WEIGHTS };
    const registered = await fetch(`${installation.url}/v1/training/policies`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...LOCAL },
      body: JSON.stringify(first),
    });
    expect(registered.status).toBe(200);
    await waitUntilProjected(installation.platform.database.db, await installation.platform.log.ends(['training']), {
      timeoutMs: 60_000,
    });
    expect(await declare('nameless', nameless)).toMatchObject({
      status: 200,
      body: { kind: 'registered', head: { version: 0, weights: WEIGHTS } },
    });
  });

  test('the JSON Schema of a declaration is served', async () => {
    const response = await fetch(`${installation.url}/v1/training/declaration.schema.json`, { headers: LOCAL });
    expect(response.headers.get('content-type')).toMatch(/^application\/schema\+json/);
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(declarationSchema())));
  });

  test.each([
    [{ estimator: { name: 'nope' } }, 'estimator.name: there is no estimator nope; there are gae, grpo,'],
    [{ estimator: { name: 'grpo', options: { sclae: 1 } } }, 'estimator.options.sclae: grpo has no option sclae;'],
    [{ estimator: { name: 'grpo', options: { gamma: 1 } } }, 'grpo has no option gamma, which belongs to gae,'],
    [{ estimator: { name: 'grpo', options: { ['x'.repeat(1_000)]: 1 } } }, 'estimator.options'],
    [{ estimatr: { name: 'grpo' } }, 'Unrecognized key: "estimatr"'],
    [{ preset: 'agent-r1' }, 'preset: Invalid option'],
    [{ backend: 'torch', weights: undefined }, 'torch: the backend torch has no model'],
    [{ rules: { groupPerBatch: 2 } }, 'rules: Unrecognized key: "groupPerBatch"'],
    [{ rules: { groupsPerBatch: 0 } }, 'rules.groupsPerBatch'],
    [{ rules: { rewards: { shaped: 1 } } }, 'the metric environment has no weight among shaped'],
    [{ weights: 'abc' }, 'weights: must be a SHA-256'],
    [{ loss: { name: 'gspo', options: { 'a\u0000': 1 } } }, 'loss.options.a\ufffd: its text holds a NUL'],
    [{ rules: { metric: 'm\ud800' } }, 'rules.metric: its text holds a NUL or half a character'],
    [
      { rules: { rewards: Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [i === 0 ? 'environment' : `c${i}`, 1])) } },
      'rules.rewards: it names 1001 components',
    ],
  ])('%j is refused with what is wrong', async (body, message) => {
    const refused = await declare('refused', body);
    expect([400, 422]).toContain(refused.status); // by the published schema, or by a rule that it cannot state
    expect(refused.body).toMatchObject({ error: { ...REFUSED.error, message: expect.stringContaining(message) } });
    expect(await readLedgers(installation.platform.database.db, ['refused'])).toEqual([]);
  });
});
