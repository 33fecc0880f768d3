import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { prepareEvents } from '../append/prepare-events.ts';
import { TOPICS } from '../events/catalogue.ts';
import type { Envelope } from '../events/envelope.ts';
import { newId } from '../events/new-id.ts';
import { openStudio } from '../http/studio/open-studio.ts';
import { createKey, SCOPES, type Scope } from '../postgres/keys.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { SILENT } from '../runtime/logger.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { everyEvent } from '../testing/every-event.ts';
import { LOCAL } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { recordBatches } from '../testing/record-batches.ts';
import { recordDrawnHistories } from '../testing/record-drawn-histories.ts';
import { runAll } from './run-all.ts';

/** What one project has: a run with images, a policy with batches, one of them leased. */
interface Tenant {
  readonly builder: EventBuilder;
  readonly policyId: string;
  readonly batchIds: readonly string[];
  readonly imageIds: readonly string[];
  readonly key: string;
  readonly lease: { readonly leaseId: string; readonly fence: number };
}

interface Asked {
  readonly path: string;
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}
/** `by`: every request that names the tenant, and what a key of another one is answered. `shared`: says nothing of tenants. */
type Rule =
  | { readonly kind: 'by'; readonly asked: (of: Tenant) => readonly Asked[]; readonly statuses: readonly number[] }
  | { readonly kind: 'shared' | 'closed' };

const post = (path: string, body: object): Asked => ({ method: 'POST', path, body });
const of = (asked: (of: Tenant) => readonly Asked[], ...statuses: readonly number[]): Rule => ({ kind: 'by', asked, statuses });
const onLease = (what: string, body: (fence: number) => object): Rule =>
  of(({ lease: { leaseId, fence } }) => [post(`/v1/training/leases/${leaseId}/${what}`, body(fence))], 404);

const WEIGHTS = 'a'.repeat(64);
const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;
const NAMES = new RegExp(`${UUID.source}|[0-9a-f]{64}`, 'g');
const BY_ID = `query ($id: ID!, $name: String!) {
  run(id: $id) { id name } tree(id: $id) { id } step(id: $id) { id observation } rollout(id: $id) { id } revision(id: $id) { id }
  dataset(id: $id) { id name } experiment(id: $id) { id } batch(id: $id) { id } policy(id: $name) { id }
  path(leaf: $id) { id } trajectory(rollout: $id) { rollout { id } } trace(id: $name) { kind id }
}`;
const LISTS = `query ($after: String) {
  runs(first: 1, after: $after) { totalCount pageInfo { endCursor } nodes { id name } } trees(first: 50) { nodes { id } }
  trajectories(first: 50) { nodes { rollout { id } } } policies { id } datasets(first: 50) { nodes { id } }
  quarantine(first: 50) { nodes { reason } } anomalies(first: 50) { nodes { kind } } projects { name } viewer { project }
}`;

function queriesOf({ builder, policyId }: Tenant): readonly object[] {
  const ids = [...new Set(JSON.stringify(builder.events).match(UUID))];
  const named = { query: BY_ID, variables: { id: ids[0], name: policyId } };
  return [{ query: LISTS }, named, ...ids.map((id) => ({ query: BY_ID, variables: { id, name: id } }))];
}

/** Calls that name a run of the tenant, by their address and by headers. */
function captured(what: string, body: object): Readonly<Record<string, Rule>> {
  const runsOf = ({ builder }: Tenant) => builder.events.flatMap(({ type, stream }) => (type === 'RunStarted' ? [stream] : []));
  const headers = (run: string) => ({ 'x-espalier-run': run, 'x-espalier-task': 'task', 'x-espalier-rollout': '0' });
  return {
    [`POST /v1/proxy/{run}/{task}/{rollout}/${what}`]: of(
      (tenant) => runsOf(tenant).map((run) => post(`/v1/proxy/${run}/task/0/${what}`, body)),
      403,
    ),
    [`POST /v1/proxy/${what}`]: of(
      (tenant) => runsOf(tenant).map((run) => ({ ...post(`/v1/proxy/${what}`, body), headers: headers(run) })),
      403,
    ),
  };
}

/** Closings that name a run of the tenant, or a tree of it. */
function closings(): Readonly<Record<string, Rule>> {
  const runsOf = ({ builder }: Tenant) => builder.events.flatMap(({ type, stream }) => (type === 'RunStarted' ? [stream] : []));
  const byHeader = (run: string) => ({ ...post('/v1/proxy/close', {}), headers: { 'x-espalier-run': run } });
  return {
    'POST /v1/proxy/{run}/close': of((tenant) => runsOf(tenant).map((run) => post(`/v1/proxy/${run}/close`, {})), 403),
    'POST /v1/proxy/{run}/{task}/close': of(
      (tenant) => runsOf(tenant).map((run) => post(`/v1/proxy/${run}/task/close`, {})),
      403,
    ),
    'POST /v1/proxy/close': of((tenant) => runsOf(tenant).map(byHeader), 403),
  };
}

/** A call of a model in a trace that names a run. */
function tracesOf(run: string): object {
  const named = { 'espalier.run': run, 'openinference.span.kind': 'LLM' };
  const attributes = Object.entries(named).map(([key, stringValue]) => ({ key, value: { stringValue } }));
  const times = { startTimeUnixNano: '1700000000000000000', endTimeUnixNano: '1700000000010000000' };
  const span = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), name: 'call', ...times, attributes };
  return { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
}

/** A table whole, of the run of the tenant, of its policy, and in text a reader sees: not compressed. */
function tableOf(table: string): Rule {
  return of(({ builder, policyId }) => {
    const [run] = builder.events.flatMap(({ type, stream }) => (type === 'RunStarted' ? [stream] : []));
    const headers = { 'accept-encoding': 'identity' };
    const queries = ['', `?run=${run}`, `?policy=${encodeURIComponent(policyId)}`];
    return queries.map((query) => ({ path: `/v1/tables/${table}${query}`, headers }));
  }, 200);
}

const studio = openStudio();

/** What a key of another project is answered by every route of the server. */
const RULES: Readonly<Record<string, Rule>> = {
  'GET /graphql': of(
    (tenant) =>
      queriesOf(tenant)
        .slice(0, 8)
        .map((query) => ({ path: `/graphql?${new URLSearchParams(textsOf(query))}` })),
    200,
  ),
  'POST /graphql': of((tenant) => queriesOf(tenant).map((query) => post('/graphql', query)), 200),
  ...Object.fromEntries(
    ['trajectories', 'steps', 'rewards', 'samples', 'batches'].map((table) => [`GET /v1/tables/${table}`, tableOf(table)]),
  ),
  'GET /v1/pages': of(
    ({ builder }) =>
      builder.events.flatMap(({ type, stream }) =>
        type === 'RunStarted' || type === 'TreeOpened' ? [{ path: `/v1/pages?id=${stream}` }] : [],
      ),
    404,
  ),
  'POST /v1/events': of(
    ({ builder }) =>
      builder.events.flatMap(({ principal: _, project: __, ...event }) => [
        post('/v1/events', event),
        post('/v1/events', { ...event, id: newId() }),
      ]),
    ...[400, 403, 409, 422],
  ),
  'POST /v1/runs/{id}/epoch': of(
    ({ builder }) =>
      builder.events.flatMap(({ type, stream }) =>
        type === 'RunStarted' ? [{ method: 'POST', path: `/v1/runs/${stream}/epoch` }] : [],
      ),
    404,
  ),
  ...captured('chat/completions', { messages: [] }),
  ...captured('responses', { input: 'q' }),
  ...captured('reward', { value: 1 }),
  ...captured('end', {}),
  ...closings(),
  // whose span names a run of another is rejected: the answer counts it
  'POST /v1/traces': of(({ builder }) => {
    const runs = builder.events.flatMap(({ type, stream }) => (type === 'RunStarted' ? [stream] : []));
    return runs.map((run) => post('/v1/traces', tracesOf(run)));
  }, 200),
  // this server names no model server: its answer says so
  'GET /v1/proxy/models': of(() => [{ path: '/v1/proxy/models' }], 502),
  'GET /v1/proxy/{run}/{task}/{rollout}/models': of(() => [{ path: '/v1/proxy/run/task/0/models' }], 502),
  'GET /images/{id}.png': of(
    ({ imageIds }) =>
      imageIds.flatMap((id) => {
        const path = `/images/${id}.png`;
        return [{ path }, { path, headers: { 'if-none-match': '*' } }, { path, headers: { 'if-none-match': `"${id}"` } }];
      }),
    404,
  ),
  'PUT /v1/training/policies/{id}': of(
    ({ policyId }) => [
      {
        method: 'PUT',
        path: `/v1/training/policies/${policyId}`,
        body: { backend: 'test', weights: WEIGHTS },
      },
    ],
    409,
  ),
  'POST /v1/training/policies': of(
    ({ policyId }) => [post('/v1/training/policies', { policyId, backend: 'test', weights: WEIGHTS, kept: null })],
    409,
  ),
  'POST /v1/training/leases': of(
    ({ policyId }) => [post('/v1/training/leases', { policyId, consumer: 'trainer', ttlMs: 60_000 })],
    404,
  ),
  'GET /v1/training/leases/{id}/rows': of(
    ({ lease: { leaseId } }) => [
      { path: `/v1/training/leases/${leaseId}/rows` },
      { path: `/v1/training/leases/${leaseId}/rows?layout=verl`, headers: { 'if-none-match': '*' } },
    ],
    404,
  ),
  'POST /v1/training/leases/{id}/renew': onLease('renew', (fence) => ({ fence, ttlMs: 60_000 })),
  'POST /v1/training/leases/{id}/ack': onLease('ack', (fence) => ({
    ...{ fence, version: 1, checkpointId: newId(), backend: 'test', weights: WEIGHTS },
  })),
  'POST /v1/training/leases/{id}/nack': onLease('nack', (fence) => ({ fence, reason: 'of another' })),
  'POST /v1/training/leases/{id}/abandon': onLease('abandon', (fence) => ({ fence, reason: 'of another' })),
  'POST /v1/training/batches/{id}/abandon': of(
    ({ batchIds }) => batchIds.map((id) => post(`/v1/training/batches/${id}/abandon`, { reason: 'of another' })),
    404,
  ),
  'GET /v1/training/declaration.schema.json': { kind: 'shared' },
  'GET /v1/schemas': { kind: 'shared' },
  'GET /v1/key': { kind: 'shared' },
  'GET /healthz': { kind: 'shared' },
  'GET /readyz': { kind: 'shared' },
  'GET /openapi.json': { kind: 'shared' },
  'GET /': { kind: 'shared' },
  ...(studio
    ? {
        'GET /endpoints': { kind: 'shared' },
        'GET /view/{view}': of(() => [{ path: '/view/training' }], 200),
        'GET /view/{view}/{id}': of(({ lease }) => [{ path: `/view/run/${lease.leaseId}` }], 200),
        'GET /assets/{file}': of(() => [{ path: /\/assets\/[\w.-]+\.js/.exec(studio.page)?.[0] ?? '' }], 200),
      }
    : {}),
  'GET /metrics': { kind: 'closed' },
};

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
let server: Awaited<ReturnType<typeof runAll>>;
let theirs: Tenant;
let mine: Tenant;
let routes: readonly string[];
/** Names of the other project: ids, digests and names that mine does not have. */
let foreign: ReadonlySet<string>;
const keys: { name: string; key: string }[] = [];

beforeAll(async () => {
  platform = await openTestPlatform();
  server = await runAll(platform, SILENT);
  theirs = await givenTenant('theirs', everyEvent().filter(isOfKey));
  mine = await givenTenant('mine', []);
  const own = new Set([...namesOf(mine), WEIGHTS]);
  foreign = new Set([...namesOf(theirs)].filter((name) => !own.has(name)));
  for (const scopes of [SCOPES.filter((scope) => scope !== 'admin'), ['admin']] as const)
    keys.push({ name: scopes.join(), key: await keyOf('mine', scopes) });
  const { paths } = (await (await fetch(`${server.url}/openapi.json`, { headers: LOCAL })).json()) as {
    readonly paths: Readonly<Record<string, object>>;
  };
  routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
});
afterAll(async () => {
  await server?.close();
  await platform.close();
});

test('every route of the server has a rule here for what a key of another project is answered', () => {
  expect(Object.keys(RULES).sort()).toEqual([...routes].sort());
});

describe('a confined key', () => {
  test.each(Object.entries(RULES))('a key of one project gets nothing of another one by %s', async (route, rule) => {
    for (const { name, key } of keys) {
      if (rule.kind === 'by') {
        const found = new Map<string, string>();
        for (const asked of rule.asked(theirs)) {
          const { status, text } = await ask(asked, key);
          const sent = JSON.stringify(asked);
          const leaks = [...foreign].filter((each) => text.includes(each) && !sent.includes(each));
          const unasked = route.endsWith('/graphql') && text.includes('"errors"');
          if (!rule.statuses.includes(status) || leaks.length > 0 || unasked)
            found.set(sent.slice(0, 300), `${status} ${leaks} ${text}`);
        }
        expect([name, ...found]).toEqual([name]);
        continue;
      }
      const [, path = ''] = route.split(' ');
      const { status, text } = await ask({ path }, key);
      expect([name, rule.kind === 'closed' ? status : status === 200 || status === 503]).toEqual([
        ...[name, rule.kind === 'closed' ? 403 : true],
      ]);
      expect([...foreign].filter((each) => text.includes(each))).toEqual([]);
    }
  });

  test('a lease, a batch, a policy and an image of another project are answered as unknown ones', async () => {
    const [{ key } = { key: '' }] = keys;
    const named = { lease: newId(), batch: newId(), policy: 'policy of theirz', image: 'b'.repeat(64) };
    const unknown: Tenant = {
      ...{ ...theirs, policyId: named.policy, batchIds: [named.batch], imageIds: [named.image] },
      lease: { leaseId: named.lease, fence: 1 },
    };
    const names = (tenant: Tenant) => [tenant.lease.leaseId, tenant.batchIds[0], tenant.policyId, tenant.imageIds[0]];
    for (const [route, rule] of Object.entries(RULES)) {
      if (rule.kind !== 'by' || !/leases|batches|images/.test(route)) continue;
      const shown = async (tenant: Tenant) => {
        const [asked] = rule.asked(tenant);
        if (!asked) throw new Error(`${route} asks for nothing`);
        const { status, text } = await ask(asked, key);
        return [status, names(tenant).reduce<string>((all, name = '', i) => all.replaceAll(name, `*${i}`), text)];
      };
      expect([route, await shown(theirs)]).toEqual([route, await shown(unknown)]);
    }
  });

  test('a key of one project can neither follow nor page through what another one has', async () => {
    const first = await ask(post('/graphql', { query: LISTS }), theirs.key);
    const { data } = JSON.parse(first.text) as { data: { runs: { pageInfo: { endCursor: string } } } };
    const after = data.runs.pageInfo.endCursor;
    const { text } = await ask(post('/graphql', { query: LISTS, variables: { after } }), keys[0]?.key ?? '');
    expect([...foreign].filter((name) => text.includes(name) && name !== after)).toEqual([]);
    const ids = theirs.builder.events.flatMap(({ type, stream }) => (type === 'RunStarted' ? [stream] : []));
    const follow = `subscription { events(after: "", run: "${ids[0]}") { id data } }`;
    const controller = new AbortController();
    const stream = await fetch(`${server.url}/graphql`, {
      ...{ method: 'POST', body: JSON.stringify({ query: follow }), signal: controller.signal },
      headers: { ...bearer(keys[0]?.key ?? ''), accept: 'text/event-stream', 'content-type': 'application/json' },
    });
    const own = `subscription { events(after: "") { id data } }`;
    const seen = await firstEvent(own);
    expect([...foreign].filter((name) => seen.includes(name))).toEqual([]);
    expect(stream.status).toBe(200);
    controller.abort();
  });

  test('a key of one project writes no other one', async () => {
    for (const { key } of keys) {
      const { status } = await ask({ path: '/v1/key', headers: { 'espalier-project': 'theirs' } }, key);
      expect(status).toBe(403);
    }
  });
});

test('the key of the other project itself is answered by every one of these routes', async () => {
  const answered = new Set<string>();
  for (const [route, rule] of Object.entries(RULES)) {
    if (rule.kind !== 'by' || /ack|abandon|nack|PUT|events|epoch|proxy/.test(route)) continue; // these decide, or are refused for what they say
    for (const asked of rule.asked(theirs).slice(0, 12)) {
      const { status, text } = await ask(asked, theirs.key);
      if (status < 400 && !/^\{"errors"/.test(text)) answered.add(route);
    }
  }
  const expected = Object.entries(RULES).flatMap(([route, rule]) =>
    rule.kind === 'by' && !/ack|abandon|nack|PUT|events|epoch|proxy/.test(route) ? [route] : [],
  );
  expect([...answered].sort()).toEqual(expected.sort());
});

function bearer(key: string) {
  return { authorization: `Bearer ${key}` };
}

async function ask({ path, method = 'GET', body, headers = {} }: Asked, key: string) {
  const answer = await fetch(`${server.url}${path}`, {
    ...{ method, headers: { ...(body ? { 'content-type': 'application/json' } : {}), ...headers, ...bearer(key) } },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: answer.status, text: Buffer.from(await answer.arrayBuffer()).toString('latin1') };
}

/** The first event that a subscription of a key of mine shows. */
async function firstEvent(query: string): Promise<string> {
  const controller = new AbortController();
  const stream = await fetch(`${server.url}/graphql`, {
    ...{ method: 'POST', body: JSON.stringify({ query }), signal: controller.signal },
    headers: { ...bearer(keys[0]?.key ?? ''), accept: 'text/event-stream', 'content-type': 'application/json' },
  });
  let text = '';
  const reader = stream.body?.getReader();
  while (reader && !/event: next[\s\S]*\n\n/.test(text)) {
    const { value, done } = await reader.read();
    if (done) break;
    text += Buffer.from(value).toString('utf8');
  }
  controller.abort();
  expect(text).toContain('event: next');
  return text;
}

function textsOf(query: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

function namesOf({ builder, policyId, batchIds, imageIds, lease }: Tenant): ReadonlySet<string> {
  const text = JSON.stringify(builder.events.map(({ producer: _, ...event }) => event));
  return new Set([...(text.match(NAMES) ?? []), policyId, ...batchIds, ...imageIds, lease.leaseId]);
}

/** Events of lineages are the lease service's, and what collectors alone write has no endpoint. */
function isOfKey({ type }: Envelope): boolean {
  return !/^(Training|Batch|Sample|Lease|Checkpoint|Policy|RunResumed|TreeResumed|PayloadForgotten)/.test(type);
}

async function keyOf(project: string, scopes: readonly Scope[]): Promise<string> {
  return (await createKey(platform.database.db, { name: project, scopes, projects: [project] })).key;
}

async function givenTenant(project: string, more: readonly Envelope[]): Promise<Tenant> {
  const { log, database, blobs } = platform;
  const settled = async () => waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: 60_000 });
  const builder = new EventBuilder(project);
  const policyId = `policy of ${project}`;
  const tree = builder.tree(builder.run('drawn'));
  const { steps } = builder.walk(tree, 0, 3, 1);
  const records = [`the hall of ${project}`, `the desk of ${project}`, `the mug of ${project}`];
  const { imageIds } = recordDrawnHistories(builder, tree, steps, { records });
  const { batchIds } = recordBatches(builder, { policyId, batches: 2 });
  builder.events.push(...more);
  const key = await keyOf(project, ['read', 'train']);
  const registered = await ask(post('/v1/training/policies', { policyId, backend: 'test', weights: WEIGHTS, kept: null }), key);
  expect(registered.status).toBe(200);
  await settled();
  await log.append(await prepareEvents(builder.events, blobs, { principal: `key:${project}`, project }));
  await settled();
  // the first image shows no history, and is the same everywhere
  const leased = await ask(post('/v1/training/leases', { policyId, consumer: project, ttlMs: 3_600_000, waitMs: 20_000 }), key);
  expect(leased.status).toBe(200);
  await settled();
  return {
    ...{ builder, policyId, batchIds, key, imageIds: imageIds.slice(1) },
    lease: JSON.parse(leased.text) as Tenant['lease'],
  };
}
