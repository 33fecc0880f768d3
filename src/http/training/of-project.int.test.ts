import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { DEFAULT_STAMP, type Envelope } from '../../events/envelope.ts';
import { formatPosition } from '../../log/position.ts';
import { createKey } from '../../postgres/keys.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendRecorded, recordBatches } from '../../testing/record-batches.ts';
import { openLeaseService } from '../../usecases/train/open-lease-service.ts';
import { openTestApi, type TestApi } from '../http-testing.ts';

let api: TestApi;
let url: string;
beforeAll(async () => {
  api = await openTestApi();
  await api.project();
  const { database, log, blobs } = api;
  const service = (stamp = DEFAULT_STAMP) => openLeaseService({ database, log, blobs, stamp });
  url = (await api.serve({ api: { training: { service: service(), as: (stamp) => ({ service: service(stamp) }) } } })).url;
});
afterAll(() => api.close());

const keys = new Map<string, string>();
async function headersOf(project: string): Promise<Record<string, string>> {
  const made = async () => (await createKey(api.database.db, { name: project, scopes: ['train'], projects: [project] })).key;
  const key = keys.get(project) ?? (await made());
  keys.set(project, key);
  return { 'content-type': 'application/json', authorization: `Bearer ${key}` };
}
async function ask(project: string, path: string, body: object) {
  const asked = { method: 'POST', headers: await headersOf(project), body: JSON.stringify(body) };
  const answer = await fetch(`${url}/v1/training/${path}`, asked);
  return { status: answer.status, text: await answer.text() };
}
const policyNamed = (policyId: string) => ({ policyId, backend: 'test', weights: 'a'.repeat(64), kept: null });
const leaseOf = (policyId: string) => ({ policyId, consumer: 'trainer', ttlMs: 60_000 });
async function settled(): Promise<void> {
  await api.projected(formatPosition(await api.log.ends(TOPICS)));
}

test('a policy and its leases are there for the keys of its project alone', async () => {
  expect(await ask('atlas', 'policies', policyNamed('owned'))).toMatchObject({ status: 200 });
  expect(await ask('atlas', 'leases', leaseOf('owned'))).toMatchObject({ status: 202 });
  expect(await ask('borealis', 'policies', policyNamed('owned'))).toMatchObject({ status: 409 });
  const foreign = await ask('borealis', 'leases', leaseOf('owned'));
  const unknown = await ask('borealis', 'leases', leaseOf('other'));
  expect(foreign).toEqual({ status: 404, text: unknown.text.replaceAll('other', 'owned') });
});

test('a key that writes another of its projects acts for the project of the policy', async () => {
  const { key } = await createKey(api.database.db, { name: 'both', scopes: ['train'], projects: ['borealis', 'atlas'] });
  const asked = (body: object) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
  expect(await ask('atlas', 'policies', policyNamed('visited'))).toMatchObject({ status: 200 });
  expect((await fetch(`${url}/v1/training/leases`, asked(leaseOf('visited')))).status).toBe(202);
});

test('the remedy for an unknown policy names none of another project', async () => {
  await ask('atlas', 'policies', policyNamed('unreleased model'));
  await settled();
  const { text } = await ask('borealis', 'leases', leaseOf('unreleased mode'));
  expect(text).not.toContain('unreleased model');
  expect((await ask('atlas', 'leases', leaseOf('unreleased mode'))).text).toContain('did you mean unreleased model?');
});

test('a batch of another project is not there, folded or not', async () => {
  const builder = new EventBuilder('planned');
  const { batchIds } = recordBatches(builder, { policyId: 'planned', batches: 2 });
  await ask('atlas', 'policies', policyNamed('planned'));
  await appendRecorded(
    api.log,
    builder.events.map((event) => ({ ...event, principal: 'key:atlas', project: 'atlas' }) as Envelope),
  );
  const late = await ask('borealis', `batches/${batchIds[0]}/abandon`, { reason: 'a forged end' });
  await settled();
  const known = await ask('borealis', `batches/${batchIds[0]}/abandon`, { reason: 'a forged end' });
  const unknown = await ask('borealis', 'batches/00000000-0000-4000-8000-00000000000a/abandon', { reason: 'a forged end' });
  expect([late, known]).toEqual(
    [late, known].map(() => ({
      status: 404,
      text: unknown.text.replace('00000000-0000-4000-8000-00000000000a', batchIds[0] ?? ''),
    })),
  );
  const own = await ask('atlas', `batches/${batchIds[0]}/abandon`, { reason: 'nobody can train it' });
  expect(own).toMatchObject({ status: 200 });
});

test('weights that another project brought into the blob store are not there', async () => {
  const builder = new EventBuilder('brought');
  const tree = builder.tree(builder.run());
  builder.step(tree, null, tree.rootStepId, 1, { observation: 'weights of atlas '.repeat(10_000) });
  const stamp = { principal: 'key:atlas', project: 'atlas' };
  await api.log.append(await prepareEvents(builder.events, api.blobs, stamp));
  await settled();
  const [payload] = await api.database.db.selectFrom('payloadProjects').select('sha256').where('project', '=', 'atlas').execute();
  const blob = payload?.sha256 ?? '';
  const kept = { blob, size: 170_000, mediaType: 'text/plain' };
  const register = (project: string) => ask(project, 'policies', { ...policyNamed(`kept by ${project}`), weights: blob, kept });
  expect(await register('borealis')).toMatchObject({
    status: 422,
    text: expect.stringContaining('the blob store does not hold'),
  });
  expect(await register('atlas')).toMatchObject({ status: 200 });
});

test('measurements are for who sees all projects', async () => {
  const ask = async (projects: readonly string[] | 'all') => {
    const { key } = await createKey(api.database.db, { name: 'monitor', scopes: ['read'], projects });
    return (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } })).status;
  };
  expect([await ask('all'), await ask(['atlas'])]).toEqual([200, 403]);
});
