import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { prepareEvents } from '../append/prepare-events.ts';
import { TOPICS } from '../events/catalogue.ts';
import type { Envelope } from '../events/envelope.ts';
import { newId } from '../events/new-id.ts';
import { createKey, SCOPES, type Scope } from '../postgres/keys.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { SILENT } from '../runtime/logger.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { everyEvent } from '../testing/every-event.ts';
import { LOCAL } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { recordBatches } from '../testing/record-batches.ts';
import { recordDrawnHistories } from '../testing/record-drawn-histories.ts';
import { LISTS, NAMES, post, type RouteRequest, RULES, type Tenant, WEIGHTS } from './routes-by-project-testing.ts';
import { runAll } from './run-all.ts';

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
      ...theirs,
      policyId: named.policy,
      batchIds: [named.batch],
      imageIds: [named.image],
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
      method: 'POST',
      body: JSON.stringify({ query: follow }),
      signal: controller.signal,
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

/** Routes that decide, need another scope, or are refused for what they say. */
const NOT_READ = /ack|abandon|nack|PUT|events|epoch|proxy|traces|calls/;

test('the key of the other project itself is answered by every one of these routes', async () => {
  const answered = new Set<string>();
  for (const [route, rule] of Object.entries(RULES)) {
    if (rule.kind !== 'by' || NOT_READ.test(route)) continue;
    for (const asked of rule.asked(theirs).slice(0, 12)) {
      const { status, text } = await ask(asked, theirs.key);
      if (status < 400 && !/^\{"errors"/.test(text)) answered.add(route);
    }
  }
  const expected = Object.entries(RULES).flatMap(([route, rule]) => (rule.kind === 'by' && !NOT_READ.test(route) ? [route] : []));
  expect([...answered].sort()).toEqual(expected.sort());
});

function bearer(key: string) {
  return { authorization: `Bearer ${key}` };
}

async function ask({ path, method = 'GET', body, headers = {} }: RouteRequest, key: string) {
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers: { ...(body ? { 'content-type': 'application/json' } : {}), ...headers, ...bearer(key) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: answer.status, text: Buffer.from(await answer.arrayBuffer()).toString('latin1') };
}

/** The first event that a subscription of a key of mine shows. */
async function firstEvent(query: string): Promise<string> {
  const controller = new AbortController();
  const stream = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    body: JSON.stringify({ query }),
    signal: controller.signal,
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
    builder,
    policyId,
    batchIds,
    key,
    imageIds: imageIds.slice(1),
    lease: JSON.parse(leased.text) as Tenant['lease'],
  };
}
