import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKey, revokeKey } from '../postgres/keys.ts';
import { localPrincipal } from '../postgres/principal.ts';
import { SILENT } from '../runtime/logger.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { givenEvents } from '../testing/given-events.ts';
import { LOCAL } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { forwardQueries } from './forward-queries.ts';
import { serveApi } from './serve-api.ts';
import { startInThread } from './start-in-thread.ts';

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
let server: Awaited<ReturnType<typeof serveApi>>;
const builder = new EventBuilder('thread');
const tree = builder.tree(builder.run('threaded'), 'deep');
const { steps } = builder.walk(tree, 0, 2_000, 1);

beforeAll(async () => {
  platform = await openTestPlatform();
  await givenEvents(platform.database.db, builder.events);
  server = await serveApi(platform, SILENT);
});
afterAll(async () => {
  await server.close();
  await platform.close();
});

async function ask(query: string, init: RequestInit = {}) {
  return fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...LOCAL },
    body: JSON.stringify({ query }),
    ...init,
  });
}

test('a query is answered by the thread with data of the database and of the log that the server has open', async () => {
  const answer = await ask('{ position runs { nodes { name } } }');
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
  expect(await answer.json()).toEqual({
    data: { position: expect.stringMatching(/runs\.0:0/), runs: { nodes: [{ name: 'threaded' }] } },
  });
});

test('an answer of many megabytes arrives whole', async () => {
  const fields = Array.from({ length: 40 }, (_, i) => `a${i}: observation`).join(' ');
  const answer = await ask(`{ path(leaf: "${steps.at(-1)}") { id ${fields} } }`);
  const text = await answer.text();
  expect(text.length).toBeGreaterThan(2_000_000);
  expect(JSON.parse(text).data.path).toHaveLength(2_001);
});

test('a query of which fields fail after its answer ends no other', async () => {
  const large = new EventBuilder('large');
  const bad = large.tree(large.run('large'), 'large');
  const rollout = large.rollout(bad);
  const observation = { blob: 'a'.repeat(64), size: 70_000, mediaType: 'text/plain; charset=utf-8' };
  large.step(bad, rollout, bad.rootStepId, 1, { observation });
  await givenEvents(platform.database.db, large.events);
  const text = 'largeTexts { text(length: 0) }'; // fails at once in a step of the list, and later among the children of the root
  const [failed, other] = await Promise.all([
    ask(`{ tree(id: "${bad.treeId}") { steps { ${text} children { ${text} } } } }`),
    ask(`{ path(leaf: "${steps.at(-1)}") { id } }`),
  ]);
  expect((await failed.json()).errors[0]).toMatchObject({ extensions: { argument: 'length' } });
  expect((await other.json()).data.path).toHaveLength(2_001);
});

test('a method of which no request can be made is refused', async () => {
  const { hostname, port } = new URL(server.url);
  const asked = request({ hostname, port, method: 'TRACE', path: '/graphql?query=key', headers: LOCAL }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, POST']);
});

test('headers that concern a connection or say who asks are not passed on, and end nothing', async () => {
  const { hostname, port } = new URL(server.url);
  const headers = { ...LOCAL, trailer: 'x', te: 'trailers', 'espalier-asked-by': 'nobody', 'content-length': '0' };
  const asked = request({ hostname, port, path: '/graphql?query=%7Bposition%7D', headers: { ...LOCAL } });
  for (const [name, value] of Object.entries(headers)) if (name !== 'trailer') asked.setHeader(name, value);
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  const raw = connect(Number(port), hostname);
  const lines = Object.entries({ host: `${hostname}:${port}`, connection: 'close', ...LOCAL, trailer: 'x' });
  raw.write(
    `GET /graphql?query=%7Bposition%7D HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
  );
  const received = await text(raw);
  expect([answer.statusCode, received.slice(0, 12)]).toEqual([200, 'HTTP/1.1 200']);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});

test('a refusal keeps its status and its headers, and a page for a browser is served', async () => {
  const refused = await ask('{ runs(first: 500) { nodes { trees(first: 500) { nodes { id } } } } }');
  expect([refused.status, (await refused.json()).errors[0].extensions.limit]).toEqual([400, 'cost']);
  const page = await fetch(`${server.url}/graphql`, { headers: { accept: 'text/html', ...LOCAL } });
  expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
  expect([page.headers.get('content-encoding'), (await page.text()).length > 1_000_000]).toEqual(['gzip', true]);
  expect((await fetch(`${server.url}/graphql?query=%7Bposition%7D`, { headers: LOCAL })).status).toBe(200);
});

test('subscriptions of one client over the share of its key are refused, each on a connection of its own', async () => {
  const left = new AbortController();
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream', ...LOCAL };
  const refusals: string[] = [];
  await new Promise<void>((resolve, reject) => {
    for (let i = 0; i < 70; i++)
      ask('subscription { events { id } }', { headers, signal: left.signal })
        .then((answer) => answer.text()) // of one that is open it does not end
        .then((text) => {
          if (refusals.push(text) === 6) resolve();
        })
        .catch(reject);
  });
  left.abort();
  for (const text of refusals) expect(text).toMatch(/subscriptions of a key.* is 64, and this is 65; follow several runs/);
});

test('a subscription whose key is revoked ends within 5 s, and that of another key continues', async () => {
  const { db } = platform.database;
  const left = new AbortController();
  const follow = async (name: string) => {
    const { key, apiKey } = await createKey(db, { name, scopes: ['read'] });
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${key}` };
    const { status, body } = await ask('subscription { events { id } }', { headers, signal: left.signal });
    expect(status).toBe(200);
    const ended = (async () => {
      for await (const _ of body ?? []); // comments that keep it alive
    })().then(
      () => 'cut',
      () => 'cut',
    );
    return { keyId: apiKey.keyId, ended };
  };
  const [gone, kept] = [await follow('gone'), await follow('kept')];
  await revokeKey(db, gone.keyId);
  const revoked = performance.now();
  expect(await gone.ended).toBe('cut');
  expect(performance.now() - revoked).toBeLessThan(5_000);
  expect(await Promise.race([kept.ended, Promise.resolve('open')])).toBe('open');
  left.abort();
});

test('a thread that ends fails what it was answering with 503 and the remedy, and the next query starts another one', async () => {
  const start = () => startInThread('queries', platform, SILENT, { program: 'src/testing/queries-that-die.ts' });
  const queries = forwardQueries(start, SILENT);
  const dying = createServer((req, res) => void queries.listener(req, res, { principal: localPrincipal() })).listen(0);
  await once(dying, 'listening');
  const address = dying.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  for (const _ of [1, 2]) {
    expect(await (await fetch(`${url}/live`)).text()).toBe('alive');
    const died = await fetch(`${url}/die`);
    expect([died.status, await died.json()]).toEqual([503, { error: expect.objectContaining({ code: 'unavailable' }) }]);
  }
  await queries.close();
  dying.closeAllConnections();
  dying.close();
});
