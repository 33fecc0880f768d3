import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { derivedId } from '../../events/derived-id.ts';
import type { Envelope } from '../../events/envelope.ts';
import { DEFAULT_STAMP } from '../../events/envelope.ts';
import { manifestHashOf } from '../../events/manifest-hash.ts';
import { newId } from '../../events/new-id.ts';
import { createKey } from '../../postgres/keys.ts';
import { settle } from '../../testing/crashing-run.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendRecorded, recordBatches } from '../../testing/record-batches.ts';
import { until } from '../../testing/until.ts';
import { readSafetensors } from '../../training/rows/safetensors.ts';
import { readBatchUpdate } from '../../training/versions/read-batch-update.ts';
import { declarePolicy } from '../../usecases/train/declare-policy.ts';
import { estimateBatch } from '../../usecases/train/estimates/estimate-batch.ts';
import { openLeaseService } from '../../usecases/train/open-lease-service.ts';
import { openTestApi, type TestApi } from '../http-testing.ts';

const TRAINER = fileURLToPath(new URL('../../../examples/trainer.py', import.meta.url));

let api: TestApi;
let url: string;
beforeAll(async () => {
  api = await openTestApi();
  await api.project();
  const { database, log, blobs } = api;
  const world = { database, log, blobs, stamp: DEFAULT_STAMP };
  url = (
    await api.serve({
      api: {
        training: {
          service: openLeaseService(world),
          declare: (policyId, wanted) => declarePolicy(world, policyId, wanted),
        },
      },
    })
  ).url;
});
afterAll(() => api.close());

const sha = (text: string) => createHash('sha256').update(text).digest('hex');

interface Body {
  readonly error?: {
    readonly code?: string;
    readonly message: string;
    readonly remedy: string;
    readonly problems?: readonly unknown[];
  };
  readonly [field: string]: unknown;
}
async function post(
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; body: Body }> {
  const response = await fetch(`${url}/v1/training${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
}
async function given(
  policyId: string,
  shape: Partial<Parameters<typeof recordBatches>[1]> = {},
  changed: (event: Envelope) => Envelope = (event) => event,
) {
  const builder = new EventBuilder(policyId);
  const recorded = recordBatches(builder, { policyId, batches: 2, ...shape });
  await appendRecorded(api.log, builder.events.map(changed));
  await settle(api as unknown as Parameters<typeof settle>[0]); // it looks at the log and the database, which both have
  const registered = await post('/policies', { policyId, backend: 'test', weights: sha(policyId) });
  expect(registered).toMatchObject({ status: 200, body: { kind: 'registered', head: { version: 0 } } });
  return recorded;
}
async function metadataOf(response: Response) {
  return readSafetensors(new Uint8Array(await response.arrayBuffer())).metadata;
}
async function read(path: string) {
  return readSafetensors(new Uint8Array(await (await fetch(`${url}${path}`)).arrayBuffer()));
}
function numbersOf(tensors: ReturnType<typeof readSafetensors>['tensors'], name: string): readonly number[] {
  return Array.from(tensors.get(name)?.data ?? []);
}
/** The plan of a batch by another estimator, with the hash that belongs to it. */
function withEstimator(event: Extract<Envelope, { type: 'BatchPlanned' }>, estimator: object): Envelope {
  const { manifestHash: _, ...data } = { ...event.data, estimator: { ...event.data.estimator, ...estimator } };
  return { ...event, data: { ...data, manifestHash: manifestHashOf(data) } };
}
const asking = (policyId: string) => ({ policyId, consumer: 'trainer', ttlMs: 60_000 });
const result = (version: number) => ({ version, checkpointId: newId(), backend: 'test', weights: sha(`${version}`) });

describe('a remote trainer', () => {
  test('a trainer leases, reads the rows, renews and acknowledges over HTTP', async () => {
    const { batchIds } = await given('over http');
    const { status, body: lease } = await post('/leases', asking('over http'));
    expect([status, lease]).toEqual([
      200,
      expect.objectContaining({
        batchId: batchIds[0],
        ordinal: 0,
        fence: 1,
        samples: 2,
        rows: `/v1/training/leases/${lease.leaseId}/rows?layout=step`,
        base: expect.objectContaining({ version: 0, weights: sha('over http') }),
        deadline: expect.stringMatching(/Z$/),
      }),
    ]);
    const rows = await fetch(`${url}${lease.rows}`);
    expect(rows.headers.get('content-type')).toBe('application/x-safetensors');
    const bytes = new Uint8Array(await rows.arrayBuffer());
    expect(rows.headers.get('content-length')).toBe(String(bytes.length));
    const { tensors, metadata } = readSafetensors(bytes);
    expect(tensors.get('cu_seqlens')?.shape).toEqual([5]);
    expect(JSON.parse(metadata.batch ?? '')).toMatchObject({ batchId: batchIds[0], manifestHash: lease.manifestHash });
    const kept = await fetch(`${url}${lease.rows}`, { headers: { 'if-none-match': rows.headers.get('etag') ?? '' } });
    expect(kept.status).toBe(304);
    expect(await post(`/leases/${lease.leaseId}/renew`, { fence: 1, ttlMs: 90_000 })).toMatchObject({
      status: 200,
      body: { kind: 'renewed' },
    });
    const { rewardsAt } = metadata;
    expect(rewardsAt).toMatch(/^trees\.\d+:\d+/);
    expect(rows.headers.get('espalier-rewards-at')).toBe(rewardsAt);
    const made = { ...result(1), rewardsAt };
    const wrong = await post(`/leases/${lease.leaseId}/ack`, { fence: 1, ...made, rewardsAt: 'yesterday' });
    expect(wrong).toMatchObject({ status: 400, body: { error: { message: expect.stringContaining('rewardsAt') } } });
    const acked = await post(`/leases/${lease.leaseId}/ack`, { fence: 1, ...made });
    expect(acked).toMatchObject({ status: 200, body: { kind: 'acked', version: 1, batchId: batchIds[0] } });
    expect((await post(`/leases/${lease.leaseId}/ack`, { fence: 1, ...made })).body).toEqual(acked.body);
    expect((await fetch(`${url}${lease.rows}`)).status).toBe(409); // the lease is over, and so is the right to read by it
  });

  test('a trainer gets 202 with the reason where another one holds the batch, and waits for a batch on request', async () => {
    await given('busy', { batches: 1 });
    const { body: lease } = await post('/leases', asking('busy'));
    const other = { ...asking('busy'), consumer: 'other' };
    const none = await post('/leases', other);
    expect([none.status, Number(none.headers.get('retry-after'))]).toEqual([202, 60]);
    expect(none.body).toMatchObject({
      state: 'waiting',
      waitingFor: 'lease',
      groups: { open: 0, closed: 1, ready: 0, rejected: {} },
      next: expect.stringMatching(/^the next batch is leased until \d{4}-/),
    });
    const waiting = post('/leases', { ...other, waitMs: 20_000 });
    expect((await post(`/leases/${lease.leaseId}/nack`, { fence: 1, reason: 'out of memory' })).status).toBe(200);
    expect(await waiting).toMatchObject({ status: 200, body: { fence: 2, consumer: 'other' } });
  });

  test.each<[string, string, unknown, number, string, RegExp]>([
    ['a policy that nobody registered', '/leases', asking('nobody at all'), 404, 'unknown-policy', /declare it .* with PUT/],
    ['a policy by a misspelt name', '/leases', asking('over htpt'), 404, 'unknown-policy', /did you mean over http\?/],
    ['no JSON', '/leases', '{', 400, 'invalid', /JSON/],
    ['an unknown field', '/leases', { ...asking('x'), extra: 1 }, 400, 'invalid', /extra/],
    ['a missing field', '/leases', { policyId: 'x', consumer: 'y' }, 400, 'invalid', /ttlMs/],
    ['a time to live without end', '/leases', { ...asking('x'), ttlMs: 1e12 }, 400, 'invalid', /ttlMs/],
    ['too long a wait', '/leases', { ...asking('x'), waitMs: 31_000 }, 400, 'invalid', /waitMs/],
    ['an unknown lease', `/leases/${derivedId('no lease')}/nack`, { fence: 1, reason: '' }, 404, 'unknown-lease', /leaseId/],
    ['a lease id that is none', '/leases/x/renew', { fence: 1, ttlMs: 1_000 }, 404, 'not-found', /nothing is at/],
    ['weights that are no digest', '/policies', { policyId: 'p', backend: 'b', weights: 'x' }, 400, 'invalid', /weights/],
    [
      ...(['a blob that is not kept here', '/policies'] as const),
      ...([{ policyId: 'p', backend: 'b', weights: sha('w'), kept: { blob: sha('w'), size: 1, mediaType: 'x' } }, 422] as const),
      ...(['unprocessable', /kept\.blob/] as const),
    ],
  ])('a trainer that sends %s gets the matching error', async (_, path, body, status, code, said) => {
    const answer = await post(path, body);
    expect([answer.status, answer.body.error?.code]).toEqual([status, code]);
    expect(`${answer.body.error?.message} ${answer.body.error?.remedy}`).toMatch(said);
  });

  test('a body of another type or over the limit is refused', async () => {
    expect((await post('/leases', `"${'x'.repeat(1_100_000)}"`)).status).toBe(413);
    expect((await post('/leases', '{}', { 'content-type': 'text/plain' })).status).toBe(415);
  });

  test('a trainer off loopback needs the scope train', async () => {
    const keyOf = async (scopes: readonly ('read' | 'train')[]) =>
      (await createKey(api.database.db, { name: scopes.join(), scopes })).key;
    const ask = async (key: string) => (await post('/leases', asking('nobody'), { authorization: `Bearer ${key}` })).status;
    const [read, train] = [await keyOf(['read']), await keyOf(['train'])];
    expect([await ask(read), await ask(train)]).toEqual([403, 404]);
    const declare = async (key: string) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
      return (await fetch(`${url}/v1/training/policies/keyed`, { method: 'PUT', headers, body: '{"weights":"none"}' })).status;
    };
    expect([await declare(read), await declare(train)]).toEqual([403, 400]);
  });

  test('a trainer whose batch contradicts itself learns that nobody can read it, abandons it, and leases the next on the same base', async () => {
    let ends = 0;
    const { batchIds } = await given('contradicts itself', {}, (event) =>
      event.type === 'RolloutFinished' && ends++ === 0 ? { ...event, data: { ...event.data, steps: 9 } } : event,
    );
    const { body: lease } = await post('/leases', asking('contradicts itself'));
    const rows = await fetch(`${url}${lease.rows}`);
    const { error } = (await rows.json()) as Body;
    expect([rows.status, error]).toEqual([
      410,
      {
        code: 'unreadable',
        message: expect.stringContaining('its end waits in quarantine'),
        remedy: expect.stringContaining('/abandon'),
      },
    ]);
    const abandoned = await post(`/leases/${lease.leaseId}/abandon`, { fence: 1, reason: error?.message });
    expect(abandoned).toMatchObject({ status: 200, body: { kind: 'abandoned', batchId: batchIds[0], ordinal: 0 } });
    expect((await post(`/leases/${lease.leaseId}/ack`, { fence: 1, ...result(1) })).body.error?.code).toBe('stale-fence');
    const { body: next } = await post('/leases', asking('contradicts itself'));
    expect(next).toMatchObject({ batchId: batchIds[1], ordinal: 1, fence: 1, base: { version: 0 } });
    expect((await fetch(`${url}${next.rows}`)).status).toBe(200);
  });

  test('an operator abandons the next batch by its id', async () => {
    const { batchIds } = await given('by its id');
    const [first = '', second = ''] = batchIds;
    expect(await post(`/batches/${second}/abandon`, { reason: 'too large' })).toMatchObject({
      status: 409,
      body: { error: { code: 'not-next' } },
    });
    expect((await post(`/batches/${first}/abandon`, {})).status).toBe(400);
    expect(await post(`/batches/${first}/abandon`, { reason: 'too large' })).toMatchObject({
      status: 200,
      body: { kind: 'abandoned', ordinal: 0 },
    });
    expect((await post(`/batches/${newId()}/abandon`, { reason: 'x' })).status).toBe(404);
  });

  test('rows have the advantages that the estimator of the batch computes of each sampled token, where a trainer asks for them', async () => {
    const { batchIds } = await given('estimated', { batches: 1, observationTokens: 2 });
    const { body: lease } = await post('/leases', { ...asking('estimated'), layout: 'verl', advantages: true });
    expect(lease.rows).toMatch(/layout=verl&advantages=with$/);
    const { tensors, metadata } = await read(`${lease.rows}`);
    expect(JSON.parse(metadata.advantages ?? '')).toEqual({ method: { name: 'grpo', revision: '1', mode: {} } });
    const shown = await estimateBatch(api.database.db, api.blobs, batchIds[0] ?? '', 'now');
    const wanted = shown.samples.map(({ steps }) => steps.map(({ advantage }) => advantage ?? 0));
    expect(new Set(wanted.flat()).size).toBe(2);
    const [mask, borders, steps] = ['response_mask', 'cu_seqlens', 'step_indices'].map((name) => numbersOf(tensors, name));
    const columns = { advantages: numbersOf(tensors, 'advantages'), returns: numbersOf(tensors, 'returns') };
    for (const [row, sample] of wanted.entries())
      for (let at = borders?.[row] ?? 0; at < (borders?.[row + 1] ?? 0); at++)
        expect(columns.advantages[at]).toBeCloseTo(mask?.[at] === 1 ? (sample[steps?.[at] ?? 0] ?? 0) : 0, 6);
    expect(columns.returns.some((value) => value !== 0)).toBe(true);

    const padded = await read(`/v1/training/leases/${lease.leaseId}/rows?layout=padded&advantages=with`);
    expect(padded.tensors.get('advantages')?.shape).toEqual(padded.tensors.get('responses')?.shape);
    expect((await read(`/v1/training/leases/${lease.leaseId}/rows?layout=step&advantages=with`)).tensors.has('returns')).toBe(
      true,
    );
    const without = await read(`/v1/training/leases/${lease.leaseId}/rows?layout=verl`);
    expect([without.tensors.has('advantages'), without.metadata.advantages]).toEqual([false, undefined]);
  });

  test('rows say why they have no advantages where an estimator needs what only the trainer knows', async () => {
    const learned = { name: 'gae', revision: '1', mode: { variant: 'step', lambda: 0.9 } };
    await given('needs values', { batches: 1, observationTokens: 2 }, (event) =>
      event.type === 'BatchPlanned' ? withEstimator(event, learned) : event,
    );
    const { body: lease } = await post('/leases', { ...asking('needs values'), advantages: true });
    const { tensors, metadata } = await read(`${lease.rows}`);
    expect(tensors.has('advantages')).toBe(false);
    expect(JSON.parse(metadata.advantages ?? '')).toEqual({
      refused: expect.stringContaining('only its trainer has that model'),
    });
  });

  test('a trainer reads the rows of the next batch ahead, and asks when it leases it whether they are still the same', async () => {
    const { batchIds } = await given('ahead');
    const { body: lease } = await post('/leases', asking('ahead'));
    const ahead = await fetch(`${url}${lease.rows}&batch=next`);
    expect(JSON.parse((await metadataOf(ahead)).batch ?? '')).toMatchObject({ batchId: batchIds[1], ordinal: 1 });
    await post(`/leases/${lease.leaseId}/ack`, { fence: 1, ...result(1) });
    const { body: next } = await post('/leases', asking('ahead'));
    expect(next.batchId).toBe(batchIds[1]);
    const again = await fetch(`${url}${next.rows}`, { headers: { 'if-none-match': ahead.headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
    const none = await fetch(`${url}${next.rows}&batch=next`);
    expect([none.status, await none.json()]).toMatchObject([404, { error: { code: 'none-planned' } }]);
  });

  test('a layout that the record cannot provide and an unknown one are refused', async () => {
    await given('text observations', { steps: 2 });
    const { body: lease } = await post('/leases', { ...asking('text observations'), layout: 'verl' });
    expect(lease.rows).toMatch(/layout=verl$/);
    const refused = await fetch(`${url}${lease.rows}`);
    expect([refused.status, await refused.json()]).toEqual([
      422,
      {
        error: {
          code: 'layout',
          message: expect.stringContaining('observation'),
          remedy: expect.stringContaining('layout=step'),
        },
      },
    ]);
    expect((await fetch(`${url}${String(lease.rows).replace('verl', 'pickle')}`)).status).toBe(400);
  });
});

/** Revises each reward of a run to 7. */
async function reviseRewards(runId: string, named: string): Promise<void> {
  const rewards = await api.database.db
    .selectFrom('rewards as r')
    .innerJoin('trees as t', 't.treeId', 'r.treeId')
    .select(['r.rewardId', 'r.treeId'])
    .where('t.runId', '=', runId)
    .execute();
  const builder = new EventBuilder(named);
  const scorer = { name: 'judge', revision: '2' };
  for (const { rewardId, treeId } of rewards)
    builder.record('RewardRevised', { rewardId, treeId, value: 7, scorer, reason: 'seen again' }, runId);
  await appendRecorded(api.log, builder.events);
}

test('the position that a trainer returns determines the shown advantages of its update, whatever is revised later', async () => {
  const { runId, batchIds } = await given('positioned', { batches: 1 });
  const { body: lease } = await post('/leases', asking('positioned'));
  const { metadata } = readSafetensors(new Uint8Array(await (await fetch(`${url}${lease.rows}`)).arrayBuffer()));
  const { db } = api.database;
  await reviseRewards(runId, 'positioned, judged again');
  await post(`/leases/${lease.leaseId}/ack`, { fence: 1, ...result(1), rewardsAt: metadata.rewardsAt });
  await settle(api as unknown as Parameters<typeof settle>[0]); // it looks at the log and the database, which both have
  await until(async () => (await readBatchUpdate(db, batchIds[0] ?? ''))?.rewardsAt !== null);
  const returns = async (of: 'now' | 'trained') =>
    (await estimateBatch(db, api.blobs, batchIds[0] ?? '', of)).samples.map((sample) => sample.return);
  expect(await returns('trained')).toEqual([0.25, 0.75]);
  expect(await returns('now')).toEqual([14, 14]);
});

test('rows of a lease are packed again when a reward is revised, those of the batch behind it too, and else are as they were', async () => {
  const { runId } = await given('judged again', { batches: 2 });
  const { body: lease } = await post('/leases', asking('judged again'));
  const tags = async () =>
    Promise.all(['', '&batch=next'].map(async (batch) => (await fetch(`${url}${lease.rows}${batch}`)).headers.get('etag')));
  const before = await tags();
  expect(before).toEqual([expect.any(String), expect.any(String)]);
  expect(await tags()).toEqual(before);
  await reviseRewards(runId, 'judged again, once more');
  await settle(api as unknown as Parameters<typeof settle>[0]); // as in the test before
  const after = await tags();
  for (const [i, tag] of after.entries()) expect(tag).not.toBe(before[i]);
  expect(await tags()).toEqual(after);
});

const python = spawnSync('python3', ['--version']).status === 0;
(python ? describe : describe.skip)('the trainer of the examples, in Python', () => {
  test('the example trainer trains every batch, and loses its lease when it sleeps past the deadline', async () => {
    const { lineageId } = await given('sleeper', { batches: 3, members: 2, steps: 2, tokens: 5 });
    const slow = await runTrainer('sleeper', '2.5');
    const dropped = /^batch 0 of 2 samples, 20 tokens: dropped, since lease \S+ ended at its deadline .*\n$/;
    expect(slow).toEqual({ code: 0, stdout: expect.stringMatching(dropped), stderr: '' });
    const quick = await runTrainer('sleeper');
    const trained = [0, 1, 2].map((n) => `batch ${n} of 2 samples, 20 tokens: version ${n + 1}`);
    expect(quick.stdout.trim().split('\n')).toEqual([...trained, expect.stringMatching(/^no batch: .*1 run can open more/)]);
    expect([quick.code, quick.stderr]).toEqual([0, '']);
    const versions = async () =>
      (await api.database.pool.query('select version, parent_version from policy_versions where lineage_id = $1', [lineageId]))
        .rows;
    await until(async () => (await versions()).length === 4);
    expect((await versions()).map(({ version, parent_version }) => [version, parent_version])).toEqual([
      [0, null],
      [1, 0],
      [2, 1],
      [3, 2],
    ]);
  });
});

async function runTrainer(...args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn('python3', [TRAINER, url, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      said[stream] += text;
    });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, ...said };
}
