import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createKey, hashOf, listKeys, revokeKey, SCOPES, type Scope } from '../postgres/keys.ts';
import { projections } from '../projections/registry.ts';
import { createLogger } from '../runtime/logger.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { until } from '../testing/until.ts';
import type { NodeListener } from './endpoint.ts';
import { openTestApi, sendRaw, type TestApi } from './http-testing.ts';
import { BindRefused, ListenFailed } from './server.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
  await api.project();
});
afterAll(() => api.close());

const graphql: NonNullable<Parameters<TestApi['serve']>[0]>['api'] = {
  queries: (req, res) => res.end(JSON.stringify({ data: { path: req.url } })),
};

describe('addresses that the server listens on', () => {
  test('a server without a key refuses any address but loopback, and explains how to create one', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1']) await expect(api.serve({ host })).rejects.toThrow(new BindRefused(host));
    expect(new BindRefused('0.0.0.0').message).toContain('espalier keys create');
  });

  test('a server whose only key is revoked refuses other addresses too', async () => {
    const { apiKey } = await createKey(api.database.db, { name: 'gone', scopes: ['admin'] });
    await revokeKey(api.database.db, apiKey.keyId);
    await expect(api.serve({ host: '0.0.0.0' })).rejects.toThrow(BindRefused);
  });

  test('a key preset by its hash opens a server that has no other, makes one row however many servers start, and stays revoked', async () => {
    const key = `espalier_${'a'.repeat(43)}`;
    const options = { host: '0.0.0.0', firstKeyHash: hashOf(key).toString('hex') };
    const [server] = await Promise.all([api.serve(options), api.serve(options)]);
    const ask = () =>
      fetch(`${server.url.replace('0.0.0.0', '127.0.0.1')}/v1/key`, { headers: { authorization: `Bearer ${key}` } });
    expect(await (await ask()).json()).toMatchObject({ name: 'preset', scopes: ['admin'] });
    const preset = (await listKeys(api.database.db)).filter(({ name }) => name === 'preset');
    expect(preset).toMatchObject([{ projects: 'all', expiresAt: null, revokedAt: null }]);
    await revokeKey(api.database.db, preset[0]?.keyId ?? '');
    await expect(api.serve(options)).rejects.toThrow(BindRefused);
  });

  test('a port in use is one error with the port and the remedy', async () => {
    const port = Number(new URL(api.server.url).port);
    const error = await api.serve({ port }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ListenFailed);
    expect(error).toMatchObject({
      code: 'EADDRINUSE',
      message: expect.stringMatching(new RegExp(`port ${port} .* in use; .*ESPALIER_PORT`)),
    });
  });
});

describe('keys off loopback', () => {
  let url: string;
  const keys = new Map<string, string>();
  beforeAll(async () => {
    for (const scope of SCOPES)
      keys.set(scope, (await createKey(api.database.db, { name: scope, scopes: [scope], projects: 'all' })).key);
    const server = await api.serve({ host: '0.0.0.0', api: graphql ?? {} });
    url = server.url.replace('0.0.0.0', '127.0.0.1');
  });

  const endpoints: readonly [string, string, readonly Scope[]][] = [
    ['POST', '/v1/events', ['ingest', 'judge', 'annotate', 'admin']],
    ['POST', '/graphql', ['read', 'admin']],
    ['GET', '/metrics', ['read', 'admin']],
    ['GET', '/v1/schemas', SCOPES],
    ['GET', '/v1/key', SCOPES],
    ['GET', '/v1/health', SCOPES],
    ['GET', '/', SCOPES],
    ['GET', '/nothing', SCOPES],
  ];
  test.each(endpoints)('%s %s accepts its scopes only', async (method, path, opens) => {
    const ask = async (authorization?: string) => {
      const headers = { 'content-type': 'application/json', ...(authorization ? { authorization } : {}) };
      return (await fetch(url + path, { method, headers, ...(method === 'POST' ? { body: '[]' } : {}) })).status;
    };
    expect(await ask()).toBe(401);
    expect(await ask('Basic abc')).toBe(401);
    expect(await ask('Bearer espalier_wrong')).toBe(401);
    expect(await ask(`Bearer espalier_${'A'.repeat(43)}`)).toBe(401);
    for (const scope of SCOPES) {
      const status = await ask(`Bearer ${keys.get(scope)}`);
      expect([scope, status]).toEqual([scope, opens.includes(scope) ? (path === '/nothing' ? 404 : 200) : 403]);
    }
  });

  test('a revoked key stops working within the lifetime of the cache', async () => {
    let now = 0;
    const { key, apiKey } = await createKey(api.database.db, { name: 'short', scopes: ['read'] });
    const server = await api.serve({ host: '0.0.0.0', clock: () => now });
    const ask = async () =>
      (await fetch(`${server.url.replace('0.0.0.0', '127.0.0.1')}/healthz`, { headers: { authorization: `Bearer ${key}` } }))
        .status;
    expect(await ask()).toBe(200);
    await revokeKey(api.database.db, apiKey.keyId);
    now = 2_999;
    expect(await ask()).toBe(200);
    now = 3_001;
    expect(await ask()).toBe(401);
  });

  test('a key beyond its quota is refused with the seconds to wait, and every answer carries an id of its request', async () => {
    const quota = { requestsPerMinute: 2, bytesPerMinute: null };
    const { key, apiKey } = await createKey(api.database.db, { name: 'slow', scopes: ['read'], projects: 'all', quota });
    const server = await api.serve({ host: '0.0.0.0', clock: () => 0 });
    const ask = (path: string, id = '') =>
      fetch(server.url.replace('0.0.0.0', '127.0.0.1') + path, {
        headers: { authorization: `Bearer ${key}`, ...(id ? { 'x-request-id': id } : {}) },
      });
    expect((await ask('/v1/schemas', 'mine-1')).headers.get('x-request-id')).toBe('mine-1');
    expect((await ask('/metrics')).headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    const refused = await ask('/v1/schemas');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '30']);
    const { key: reader } = await createKey(api.database.db, { name: 'reader', scopes: ['read'], projects: 'all' });
    const metrics = await fetch(`${server.url.replace('0.0.0.0', '127.0.0.1')}/metrics`, {
      headers: { authorization: `Bearer ${reader}` },
    });
    expect(await metrics.text()).toContain(`espalier_requests_by_key_total{key="${apiKey.keyId}",status="429"} 1`);
  });

  test('a listing of keys omits the secret, and only hashes are stored', async () => {
    const listed = await listKeys(api.database.db);
    expect(listed.find(({ name }) => name === 'ingest')).toEqual({
      keyId: expect.any(String),
      replaces: [],
      name: 'ingest',
      scopes: ['ingest'],
      project: 'default',
      projects: 'all',
      quota: { requestsPerMinute: null, bytesPerMinute: null },
      createdAt: expect.any(Date),
      expiresAt: null,
      revokedAt: null,
    });
    const rows = await api.database.db.selectFrom('apiKeys').select('hash').execute();
    for (const { hash } of rows) expect(hash).toHaveLength(32);
    expect(JSON.stringify(listed)).not.toContain(keys.get('ingest'));
  });

  test('a key is revoked once', async () => {
    const { apiKey } = await createKey(api.database.db, { name: 'twice', scopes: ['read', 'read'] });
    expect(apiKey.scopes).toEqual(['read']);
    expect(await revokeKey(api.database.db, apiKey.keyId)).toMatchObject({ keyId: apiKey.keyId, revokedAt: expect.any(Date) });
    expect(await revokeKey(api.database.db, apiKey.keyId)).toBeUndefined();
    expect(await revokeKey(api.database.db, 'no id')).toBeUndefined();
  });
});

describe('requests on loopback', () => {
  test('a request without a key is accepted, a wrong key is 401, and one without the scope is 403', async () => {
    const ask = async (authorization?: string) =>
      (await fetch(`${api.server.url}/metrics`, { headers: authorization ? { authorization } : {} })).status;
    expect(await ask()).toBe(200);
    expect(await ask(`Bearer espalier_${'A'.repeat(43)}`)).toBe(401);
    const { key } = await createKey(api.database.db, { name: 'only ingest', scopes: ['ingest'] });
    expect(await ask(`Bearer ${key}`)).toBe(403);
  });

  test('a foreign Host and a foreign Origin are refused', async () => {
    expect(await raw(`GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 421 /);
    const post =
      'POST /v1/events HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nConnection: close\r\nContent-Length: 2\r\n\r\n[]';
    expect(await raw(post)).toMatch(/^HTTP\/1.1 403 /);
  });

  test('a page of another site runs no query, although its request names no Origin', async () => {
    const { url } = await api.serve({ api: graphql ?? {} });
    const image = 'Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image';
    const get = (headers: string) =>
      raw(`GET /graphql?query={runs{totalCount}} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\nConnection: close\r\n\r\n`, url);
    expect(await get(image)).toMatch(/^HTTP\/1.1 403 /);
    expect(await get('Sec-Fetch-Site: same-origin')).toMatch(/^HTTP\/1.1 200 /);
  });

  test('every answer keeps its page out of frames, and names what a page may load', async () => {
    const { url } = await api.serve({ api: graphql ?? {} });
    for (const path of ['/', '/graphql', '/healthz', '/absent']) {
      const { headers } = await fetch(`${url}${path}`);
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'.*frame-ancestors 'none'$/);
      expect(headers.get('x-frame-options')).toBe('DENY');
    }
  });
});

describe('endpoints', () => {
  test('the landing page lists every endpoint', async () => {
    const { url } = await api.serve({ api: graphql ?? {} });
    const page = await (await fetch(url)).text();
    for (const path of ['/graphql', '/v1/events', '/v1/schemas', '/healthz', '/readyz', '/v1/health', '/metrics'])
      expect(page).toContain(path);
  });

  test('/graphql passes requests to its listener, with a bounded body', async () => {
    const { url } = await api.serve({ api: graphql ?? {} });
    const post = async (body: string) => fetch(`${url}/graphql?x=1`, { method: 'POST', body });
    expect(await (await post('{}')).json()).toEqual({ data: { path: '/graphql?x=1' } });
    expect((await post(' '.repeat(1_048_577))).status).toBe(413);
    const chunked =
      'POST /graphql HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n';
    expect(await raw(chunked, url)).toMatch(/^HTTP\/1.1 411 /);
  });

  test('/v1/schemas returns a schema for every type', async () => {
    const schemas = (await (await fetch(`${api.server.url}/v1/schemas`)).json()) as Record<string, object>;
    expect(schemas.StepTaken).toMatchObject({ title: 'StepTaken', type: 'object' });
  });

  test('/healthz answers GET and HEAD', async () => {
    expect(await (await fetch(`${api.server.url}/healthz`)).json()).toEqual({ alive: true });
    const head = await fetch(`${api.server.url}/healthz`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  test('an internal error is 500 without details, and is logged once', async () => {
    const lines: string[] = [];
    const { url } = await api.serve({
      logger: createLogger({ form: 'json', write: (line) => void lines.push(line) }),
      api: {
        queries: () => {
          throw new Error('secret detail');
        },
      },
    });
    const response = await fetch(`${url}/graphql`);
    expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining('secret detail')]);
    expect(lines).toEqual([expect.stringContaining('secret detail')]);
  });
});

describe('readiness and metrics', () => {
  test('/v1/health is 200 with the lag when everything answers, and 503 with the reason when a projection is stopped', async () => {
    const ask = async () => {
      const response = await fetch(`${api.server.url}/v1/health`);
      return { status: response.status, body: await response.json() };
    };
    const builder = new EventBuilder('ready');
    builder.walk(builder.tree(builder.run()), 0, 1, 1);
    const { body } = await api.post(builder.events);
    await api.projected(body.position ?? '');
    expect(await ask()).toEqual({
      status: 200,
      body: { healthy: true, reasons: [], lag: Object.fromEntries(projections.map(({ name }) => [name, 0])) },
    });
    const stopping = api.database.db.updateTable('projections').where('name', '=', 'rewards');
    await stopping.set({ state: 'stopped', reason: 'a bug' }).execute();
    expect(await ask()).toMatchObject({
      status: 503,
      body: { healthy: false, reasons: [expect.stringContaining('rewards is stopped: a bug')] },
    });
    const ready = await fetch(`${api.server.url}/readyz`); // which this server is: a projection is another process's
    expect([ready.status, await ready.json()]).toEqual([200, { ready: true, reasons: [] }]);
    await stopping.set({ state: 'running', reason: null }).execute();
  });

  test('/readyz reports a log that does not answer, and ingestion is 503 with a retry', async () => {
    const other = await openTestApi();
    try {
      await other.log.close();
      const ready = await fetch(`${other.server.url}/readyz`);
      expect([ready.status, await ready.json()]).toEqual([503, { ready: false, reasons: ['the log does not answer'] }]);
      const health = await fetch(`${other.server.url}/v1/health`);
      expect([health.status, await health.json()]).toEqual([
        503,
        expect.objectContaining({ reasons: [expect.stringContaining('the log does not answer')], lag: null }),
      ]);
      const builder = new EventBuilder('no log');
      builder.run();
      const answer = await other.post(builder.events);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
    } finally {
      await other.close();
    }
  });

  test('/metrics shows appended events, requests, lag, quarantine and anomalies', async () => {
    const { url } = await api.serve();
    const builder = new EventBuilder('measured');
    builder.walk(builder.tree(builder.run('run', { config: { training: { policyId: 'linear:m', channel: 'train' } } })), 0, 1, 1);
    const { body } = await api.post(builder.events, {}, url);
    await api.post(builder.events, {}, url);
    await api.projected(body.position ?? '');
    const shown = await (await fetch(`${url}/metrics`)).text();
    expect(shown).toContain('espalier_events_appended_total{type="StepTaken"} 1');
    expect(shown).toContain(`espalier_events_duplicate_total ${builder.events.length}`);
    expect(shown).toContain('espalier_http_requests_total{route="/v1/events",method="POST",status="200"} 2');
    expect(shown).toContain('espalier_projection_lag_records{projection="journal"} 0');
    expect(shown).toContain('espalier_projection_stopped{projection="rewards"} 0');
    expect(shown).toContain('espalier_quarantine_open{projection="step-tree"} 0');
    expect(shown).toContain('espalier_anomalies{kind="duplicate"} 0');
    expect(shown).toContain('espalier_training_samples{policy="linear:m",state="owed:group"} 1');
    expect(shown).toContain('espalier_training_ledger_difference{policy="linear:m"} 0');
    expect(shown).toMatch(/espalier_log_end_records\{topic="trees"\} [1-9]/);
  });
});

describe('slow and leaving clients', () => {
  test('incomplete headers are answered with 408', async () => {
    const { url } = await api.serve({ timeouts: { headersMs: 100 } });
    expect(await raw('GET /healthz HTTP/1.1\r\nHost: localhost\r\n', url)).toMatch(/^HTTP\/1.1 408 /);
  });

  test('an export that is written for longer than a connection may be idle arrives', async () => {
    const queries: NodeListener = (_, res) => setTimeout(() => res.end('whole'), 400);
    const { url } = await api.serve({ api: { queries }, timeouts: { idleMs: 100 } });
    expect(await (await fetch(`${url}/v1/exports`)).text()).toBe('whole');
  });

  test('an incomplete body is answered with 408', async () => {
    const { url } = await api.serve({ timeouts: { headersMs: 100, requestMs: 200 } });
    expect(await raw(`${eventsHead(100)}[`, url)).toMatch(/^HTTP\/1.1 408 /);
  });

  test('five hundred clients that stall within their bodies, plain or gzip, block nobody', async () => {
    const { url } = await api.serve({ limits: { ingestRequests: 1 } });
    const slow = Array.from({ length: 500 }, () => connect(Number(new URL(url).port), '127.0.0.1'));
    await Promise.all(
      slow.map(async (socket, i) => {
        await once(socket, 'connect');
        socket.write(`${eventsHead(100, i % 2 === 0 ? 'identity' : 'gzip')}[`);
      }),
    );
    for (let i = 0; i < 10; i++) expect(await api.post('[]', {}, url)).toMatchObject({ status: 200 });
    for (const socket of slow) socket.destroy();
    expect(await api.post('[]', {}, url)).toMatchObject({ status: 200 });
  });

  test('bodies that would take too much memory together are refused with 429, and their bytes are free again when they end', async () => {
    const { url } = await api.serve({ limits: { ingestBytes: 2_000 } });
    const slow = connect(Number(new URL(url).port), '127.0.0.1');
    await once(slow, 'connect');
    slow.write(`${eventsHead(990)}${' '.repeat(980)}`);
    const post = async () => (await api.post('[]', {}, url)).status;
    await until(async () => (await post()) === 429);
    slow.destroy();
    await until(async () => (await post()) === 200);
  });

  test('one connection has a bounded number of requests waiting, and is ended with 429 beyond it', async () => {
    const received = await raw('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(200));
    const statuses = [...received.matchAll(/^HTTP\/1.1 (\d+)/gm)].map(([, status]) => Number(status));
    expect(statuses.slice(0, -1)).toEqual(statuses.slice(1).map(() => 200));
    expect(statuses.length).toBeGreaterThanOrEqual(65);
    expect(statuses.at(-1)).toBe(429);
    expect(received).toContain('"code":"busy"');
  });

  test('a client that sends requests one after the other and leaves does not keep the places of its key', async () => {
    const { url } = await api.serve({ requestsPerKey: 20, api: { queries: () => undefined } });
    const leaving = connect(Number(new URL(url).port), '127.0.0.1');
    leaving.write('GET /graphql HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20));
    const status = async () => (await fetch(`${url}/v1/key`)).status;
    await until(async () => (await status()) === 429);
    leaving.destroy();
    await until(async () => (await status()) === 200);
  });

  test('a listener that writes to a response that has ended does not end the server', async () => {
    const { url } = await api.serve({ api: { queries: (_req, res) => res.end('done').write('late') } });
    expect(await (await fetch(`${url}/graphql`)).text()).toBe('done');
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  test('connections beyond the limit are cut, and accepted again when others have ended', async () => {
    const { url } = await api.serve({ connections: 2 });
    const held = [0, 1].map(() => connect(Number(new URL(url).port), '127.0.0.1'));
    await Promise.all(held.map((socket) => once(socket, 'connect')));
    expect(await raw('', url)).toBe('');
    held[0]?.destroy();
    const ask = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    await until(async () => (await raw(ask, url)).startsWith('HTTP/1.1 200'));
    held[1]?.destroy();
  });
});

describe('close', () => {
  test('close finishes the requests in flight, ends event streams, and accepts no new request', async () => {
    let answer: () => void = () => undefined;
    let arrived: () => void = () => undefined;
    const inFlight = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const server = await api.serve({
      api: {
        queries: (req, res) => {
          if (req.url === '/graphql/stream') {
            res.writeHead(200, { 'content-type': 'text/event-stream' });
            res.write(':\n\n');
            return;
          }
          answer = () => res.end('done');
          arrived();
        },
      },
    });
    const stream = request(`${server.url}/graphql/stream`, { headers: { accept: 'text/event-stream' } }).end();
    const [streamed] = await once(stream, 'response');
    // `once` would reject on the break it is to see
    const streamEnded = new Promise((resolve) => streamed.once('close', resolve));
    streamed.on('error', () => undefined).resume();
    const slow = fetch(`${server.url}/graphql`);
    await inFlight;
    const closed = server.close();
    await streamEnded;
    answer();
    expect(await (await slow).text()).toBe('done');
    await closed;
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  });

  test('close cuts what does not end within its limit', async () => {
    const server = await api.serve({ api: { queries: () => undefined }, timeouts: { closeMs: 50 } });
    const never = fetch(`${server.url}/graphql`);
    const failed = expect(never).rejects.toThrow();
    await until(async () => (await fetch(`${server.url}/healthz`)).ok);
    await server.close();
    await failed;
  });
});

function eventsHead(length: number, encoding = 'identity'): string {
  return `POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Encoding: ${encoding}\r\nContent-Length: ${length}\r\n\r\n`;
}

/** Sends bytes as they are and returns all that comes back until the connection ends. */
function raw(text: string, url = api.server.url): Promise<string> {
  return sendRaw(text, url);
}
