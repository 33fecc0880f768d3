import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { FastifyInstance } from 'fastify';
import { createGraphql } from '../../graphql/create-graphql.ts';
import { createExports } from '../../graphql/exports/create-exports.ts';
import { listenerOf, tablesListener } from '../../graphql/testing/tables-listener.ts';
import { openFolderObjects } from '../blobs/folder-objects.ts';
import { sha256Hex } from '../digest/sha256.ts';
import { DEFAULT_STAMP } from '../events/envelope.ts';
import { newId } from '../events/new-id.ts';
import { zeroWeights } from '../policies/linear/weights.ts';
import { linearPolicy } from '../policies/linear-policy.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { settle } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { appendRecorded, recordBatches } from '../testing/record-batches.ts';
import { recordDrawnHistories } from '../testing/record-drawn-histories.ts';
import { openLeaseService } from '../usecases/train/open-lease-service.ts';
import { createApp } from './app.ts';
import { openTestApi, type TestApi } from './http-testing.ts';
import { policyRoutes } from './policy/policy-routes.ts';

interface Operation {
  readonly security: readonly { readonly key: readonly string[] }[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

let api: TestApi;
let policy: FastifyInstance;
let exports: ReturnType<typeof createExports>;
let folder: string;
const url: Record<'api' | 'policy', string> = { api: '', policy: '' };
const documents = {} as Record<'api' | 'policy', Document>; // filled below
beforeAll(async () => {
  api = await openTestApi();
  await api.project();
  const { database, log, blobs } = api;
  const tables = tablesListener(database, blobs);
  folder = await mkdtemp(join(tmpdir(), 'espalier-described-'));
  exports = createExports({
    db: database.db,
    blobs,
    snapshots: unused,
    objects: openFolderObjects(folder),
    scratch: folder,
    redirects: false,
  });
  const graphql = await createGraphql({ db: database.db, log, blobs, notices: unused, snapshots: unused });
  const handlers = { '/v1/tables/': tables, '/v1/exports': listenerOf(exports) };
  url.api = (
    await api.serve({
      api: {
        queries: (req, res, context) => {
          const [, listener = graphql] = Object.entries(handlers).find(([path]) => req.url?.startsWith(path)) ?? [];
          return listener(req, res, context);
        },
        training: { service: openLeaseService({ database, log, blobs, stamp: DEFAULT_STAMP }) },
      },
    })
  ).url;
  const auth = { keys: 'optional', verify: async () => undefined } as const;
  const routes = policyRoutes(linearPolicy({ version: 1, values: zeroWeights().values }, { policyId: 'crafter' }), () => 0);
  policy = await createApp({ routes, auth, metrics: createMetrics() });
  url.policy = await policy.listen({ host: '127.0.0.1', port: 0 });
  for (const server of ['api', 'policy'] as const)
    documents[server] = (await (await fetch(`${url[server]}/openapi.json`)).json()) as Document;
});
afterAll(async () => {
  await policy.close();
  await api.close();
  await exports.close();
  await rm(folder, { recursive: true });
});

describe('GET /openapi.json', () => {
  test.each(['api', 'policy'] as const)('the document of the %s server is valid OpenAPI 3.1', async (server) => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate({ ...documents[server] });
    expect([valid, errors, validator.version]).toEqual([true, undefined, '3.1']);
  });

  test('the document names the scope of every operation', () => {
    const scopes = operations('api').map(([name, { security }]) => `${name}: ${security.flatMap(({ key }) => key).join(' or ')}`);
    expect(scopes).toEqual([
      'GET /graphql: read or admin',
      'POST /graphql: read or admin',
      'GET /v1/tables/trajectories: read or admin',
      'GET /v1/tables/steps: read or admin',
      'GET /v1/tables/rewards: read or admin',
      'GET /v1/tables/samples: read or admin',
      'GET /v1/tables/batches: read or admin',
      'GET /v1/exports: read or admin',
      'GET /v1/pages: read or admin',
      'POST /v1/events: ingest or judge or annotate or admin',
      'POST /v1/runs/{id}/epoch: ingest or admin',
      'GET /images/{id}.png: read or admin',
      'POST /v1/training/policies: train or admin',
      'POST /v1/training/leases: train or admin',
      'GET /v1/training/leases/{id}/rows: train or admin',
      'POST /v1/training/leases/{id}/renew: train or admin',
      'POST /v1/training/leases/{id}/ack: train or admin',
      'POST /v1/training/leases/{id}/nack: train or admin',
      'POST /v1/training/leases/{id}/abandon: train or admin',
      'POST /v1/training/batches/{id}/abandon: train or admin',
      'GET /v1/schemas: ',
      'GET /v1/key: ',
      'GET /healthz: ',
      'GET /readyz: ',
      'GET /v1/health: ',
      'GET /metrics: read or admin',
      'GET /openapi.json: ',
      'GET /: ',
    ]);
  });
});

test('every operation answers as the document says: status, media type, body without a field more', async () => {
  const answered = new Set<string>();
  const differences: string[] = [];
  /** Calls an operation, `{id}` replaced, and compares its answer with the document. */
  const call = async (
    name: string,
    expected: number,
    { id = '', search = '', server = 'api', body, headers = {} }: Call = {},
  ) => {
    const [method = '', path = ''] = name.split(' ');
    const response = await fetch(`${url[server]}${path.replace('{id}', id)}${search}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const status = String(response.status);
    if (response.status !== expected) throw new Error(`${name} answered ${status}, not ${expected}: ${text.slice(0, 500)}`);
    answered.add(`${server} ${name} ${status}`);
    const differs = difference(server, name, status, response.headers.get('content-type'), text);
    if (differs) differences.push(`${name} ${status}: ${differs}`);
    return text.startsWith('{') ? JSON.parse(text) : {};
  };

  const builder = new EventBuilder('described');
  const tree = builder.tree(builder.run());
  const { steps } = builder.walk(tree, 0, 2, 1);
  const { imageIds } = recordDrawnHistories(builder, tree, steps, { records: ['[Observation]: a hall [Action]: north'] });
  const { position } = await call('POST /v1/events', 200, { body: builder.events });
  await api.projected(position);
  await call('POST /v1/runs/{id}/epoch', 200, { id: tree.runId });
  await call('POST /v1/runs/{id}/epoch', 404, { id: newId() });
  const [first] = builder.events;
  await call('POST /v1/events', 400, { body: [{}] });
  await call('POST /v1/events', 409, { body: { ...first, data: { ...first?.data, seed: 99 } } });
  await call('POST /v1/events', 413, { body: Array(10_001).fill(0) });
  await call('POST /v1/events', 415, { body: 'x', headers: { 'content-type': 'text/plain' } });
  const lost = new EventBuilder('lost');
  const opened = lost.tree(lost.run());
  lost.step(opened, null, opened.rootStepId, 1, { observation: { blob: sha256Hex('no'), size: 9, mediaType: 'text/plain' } });
  await call('POST /v1/events', 422, { body: lost.events });

  await call('GET /graphql', 200, { search: '?query={__typename}' });
  await call('GET /graphql', 200, { headers: { accept: 'text/html' } });
  await call('POST /graphql', 200, { body: { query: '{ runs(first: 1) { edges { node { id } } } }' } });
  await call('POST /graphql', 400, { body: '{' });
  await call('POST /graphql', 406, { body: { query: '{ __typename }' }, headers: { accept: 'image/png' } });
  await call('POST /graphql', 413, { body: ' '.repeat(1_048_577) });
  await call('POST /graphql', 415, { body: 'x', headers: { 'content-type': 'text/plain' } });

  for (const table of ['trajectories', 'steps', 'rewards', 'samples', 'batches']) {
    await call(`GET /v1/tables/${table}`, 200, { search: '?limit=1' });
    await call(`GET /v1/tables/${table}`, 400, { search: '?limit=many' });
  }

  const exported = `?format=openai&run=${tree.runId}`;
  await call('GET /v1/exports', 200, { search: exported });
  await call('GET /v1/exports', 200, { search: `${exported}&manifest=true` });
  await call('GET /v1/exports', 206, { search: exported, headers: { range: 'bytes=5-' } });
  await call('GET /v1/exports', 400, { search: '?form=openai' });
  await call('GET /v1/exports', 404, { search: `?run=${newId()}` });
  await call('GET /v1/exports', 416, { search: exported, headers: { range: 'bytes=99999999-' } });

  const [id = ''] = imageIds;
  await call('GET /images/{id}.png', 200, { id });
  await call('GET /images/{id}.png', 304, { id, headers: { 'if-none-match': '*' } });
  await call('GET /images/{id}.png', 404, { id: '0'.repeat(64) });

  const batches = new EventBuilder('described batches');
  const { batchIds } = recordBatches(batches, { policyId: 'described', batches: 3 });
  await appendRecorded(api.log, batches.events);
  await settle(api as unknown as Parameters<typeof settle>[0]); // it looks at the log and the database, which both have
  const asked = { policyId: 'described', consumer: 'trainer', ttlMs: 60_000 };
  await call('POST /v1/training/leases', 404, { body: asked });
  const registered = { policyId: 'described', backend: 'test', weights: sha256Hex('0') };
  await call('POST /v1/training/policies', 422, {
    body: { ...registered, kept: { blob: sha256Hex('no'), size: 1, mediaType: 'x' } },
  });
  await call('POST /v1/training/policies', 200, { body: registered });
  await call('POST /v1/training/policies', 409, { body: { ...registered, weights: sha256Hex('1') } });
  await call('POST /v1/training/leases', 400, { body: {} });
  await call('POST /v1/training/leases', 413, { body: ' '.repeat(1_048_577) });
  await call('POST /v1/training/leases', 415, { body: '{}', headers: { 'content-type': 'text/plain' } });
  await call('POST /v1/training/leases', 409, { body: { ...asked, baseVersion: 7 } });
  const lease = await call('POST /v1/training/leases', 200, { body: asked });
  await call('POST /v1/training/leases', 202, { body: { ...asked, consumer: 'other' } });
  const of = { id: lease.leaseId as string };
  await call('GET /v1/training/leases/{id}/rows', 200, of);
  await call('GET /v1/training/leases/{id}/rows', 400, { ...of, search: '?layout=pickle' });
  await call('GET /v1/training/leases/{id}/rows', 404, { id: newId() });
  await call('POST /v1/training/leases/{id}/renew', 200, { ...of, body: { fence: 1, ttlMs: 60_000 } });
  const result = { version: 1, checkpointId: newId(), backend: 'test', weights: sha256Hex('1') };
  await call('POST /v1/training/leases/{id}/ack', 409, { ...of, body: { fence: 1, ...result, version: 5 } });
  await call('POST /v1/training/leases/{id}/ack', 200, { ...of, body: { fence: 1, ...result } });
  await call('GET /v1/training/leases/{id}/rows', 409, of);
  const second = { id: (await call('POST /v1/training/leases', 200, { body: asked })).leaseId as string };
  await call('POST /v1/training/leases/{id}/nack', 200, { ...second, body: { fence: 1, reason: 'none' } });
  await call('POST /v1/training/leases/{id}/renew', 409, { ...second, body: { fence: 1, ttlMs: 60_000 } });
  const third = await call('POST /v1/training/leases', 200, { body: asked });
  await call('POST /v1/training/leases/{id}/abandon', 200, { id: third.leaseId, body: { fence: 2, reason: 'none' } });
  await call('POST /v1/training/batches/{id}/abandon', 200, { id: batchIds[2] ?? '', body: { reason: 'none' } });
  await call('POST /v1/training/batches/{id}/abandon', 404, { id: newId(), body: { reason: 'none' } });

  for (const path of ['/v1/schemas', '/v1/key', '/healthz', '/readyz', '/v1/health', '/metrics', '/openapi.json', '/'])
    await call(`GET ${path}`, 200);
  await call('GET /healthz', 401, { headers: { authorization: 'Bearer wrong' } });
  await call('GET /healthz', 403, { headers: { origin: 'https://evil.example' } });
  const stopping = api.database.db.updateTable('projections').where('name', '=', 'rewards');
  await stopping.set({ state: 'stopped', reason: 'a bug' }).execute();
  await call('GET /v1/health', 503);

  const to = { server: 'policy' } as const;
  const chat = { model: 'crafter', messages: [{ role: 'user', content: 'Goal: x' }], admissible_actions: ['a', 'b'] };
  const all = { logprobs: true, return_token_ids: true, return_meta_info: true };
  await call('POST /v1/chat/completions', 200, { ...to, body: chat });
  await call('POST /v1/chat/completions', 200, { ...to, body: { ...chat, ...all, n: 2 } });
  await call('POST /v1/chat/completions', 400, { ...to, body: '{' });
  await call('POST /v1/chat/completions', 404, { ...to, body: { ...chat, model: 'other' } });
  for (const path of ['/v1/models', '/openapi.json', '/']) await call(`GET ${path}`, 200, to);

  expect(differences).toEqual([]);
  const unasked = (['api', 'policy'] as const).flatMap(
    (server) =>
      operations(server)
        .map(([name]) => `${server} ${name} 200`)
        .filter((name) => !answered.has(name) && name !== 'api GET /v1/pages 200'), // that needs a studio which is built
  );
  expect(unasked).toEqual([]);
});

/** For what no call of this file uses. */
const unused = undefined as never;

interface Call {
  readonly id?: string;
  readonly search?: string;
  readonly server?: 'api' | 'policy';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

function operations(server: 'api' | 'policy'): readonly (readonly [string, Operation])[] {
  return Object.entries(documents[server].paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  );
}

const schemas: { api?: Ajv2020; policy?: Ajv2020 } = {};

/** Returns what of an answer is not in the document; undefined when all is. */
function difference(
  server: 'api' | 'policy',
  name: string,
  status: string,
  type: string | null,
  text: string,
): string | undefined {
  const [method = '', path = ''] = name.split(' ');
  const response = documents[server].paths[path]?.[method.toLowerCase()]?.responses[status];
  if (!response) return 'the status is not named';
  if (text === '') return response.content && status !== '304' ? 'the body is missing' : undefined;
  const media = type?.split(';')[0] ?? '';
  if (!response.content?.[media]) return `the media type ${media} is not named`;
  if (media !== 'application/json') return undefined;
  const place = ['paths', path, method.toLowerCase(), 'responses', status, 'content', media, 'schema'];
  const ajv = schemas[server] ?? formats.default(new Ajv2020({ strict: false, validateSchema: false }));
  if (!schemas[server]) schemas[server] = ajv.addSchema(closed(documents[server]) as object, 'document');
  const check = ajv.compile({
    $ref: `document#/${place.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`,
  });
  return check(JSON.parse(text)) ? undefined : ajv.errorsText(check.errors);
}

/** Every object of a document without fields besides those it names. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, closed(one)]));
  return 'properties' in inner && !('additionalProperties' in inner) ? { ...inner, additionalProperties: false } : inner;
}
