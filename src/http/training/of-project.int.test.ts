import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DEFAULT_STAMP } from '../../events/envelope.ts';
import { createKey } from '../../postgres/keys.ts';
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

test('a policy and its leases are there for the keys of its project alone', async () => {
  const ask = async (project: string, path: string, body: object) => {
    const { key } = await createKey(api.database.db, { name: project, scopes: ['train'], projects: [project] });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    return (await fetch(`${url}/v1/training/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).status;
  };
  const policy = { policyId: 'owned', backend: 'test', weights: 'a'.repeat(64), kept: null };
  const lease = { policyId: 'owned', consumer: 'trainer', ttlMs: 60_000 };
  expect(await ask('atlas', 'policies', policy)).toBe(200);
  const ends = [...(await api.log.ends(['training']))].flatMap(([topic, of]) =>
    [...of].map(([partition, next]) => `${topic}.${partition}:${next}`),
  );
  await api.projected(ends.join(','));
  expect(await ask('atlas', 'leases', lease)).toBe(202);
  expect(await ask('borealis', 'leases', lease)).toBe(404);
  expect(await ask('borealis', 'policies', policy)).toBe(409);
});

test('measurements are for who sees all projects', async () => {
  const ask = async (projects: readonly string[] | 'all') => {
    const { key } = await createKey(api.database.db, { name: 'monitor', scopes: ['read'], projects });
    return (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } })).status;
  };
  expect([await ask('all'), await ask(['atlas'])]).toEqual([200, 403]);
});
