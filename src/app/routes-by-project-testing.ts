import { newId } from '../events/new-id.ts';
import { openStudio } from '../http/studio/open-studio.ts';
import type { EventBuilder } from '../testing/event-builder.ts';

/** What one project has: a run with images, a policy with batches, one of them leased. */
export interface Tenant {
  readonly builder: EventBuilder;
  readonly policyId: string;
  readonly batchIds: readonly string[];
  readonly imageIds: readonly string[];
  readonly key: string;
  readonly lease: { readonly leaseId: string; readonly fence: number };
}

export interface RouteRequest {
  readonly path: string;
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}
/** `by`: every request that names the tenant, and what a key of another one is answered. `shared`: says nothing of tenants. */
type Rule =
  | { readonly kind: 'by'; readonly asked: (of: Tenant) => readonly RouteRequest[]; readonly statuses: readonly number[] }
  | { readonly kind: 'shared' | 'closed' };

export const post = (path: string, body: object): RouteRequest => ({ method: 'POST', path, body });
const of = (asked: (of: Tenant) => readonly RouteRequest[], ...statuses: readonly number[]): Rule => ({
  kind: 'by',
  asked,
  statuses,
});
const onLease = (what: string, body: (fence: number) => object): Rule =>
  of(({ lease: { leaseId, fence } }) => [post(`/v1/training/leases/${leaseId}/${what}`, body(fence))], 404);

export const WEIGHTS = 'a'.repeat(64);
const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;
export const NAMES = new RegExp(`${UUID.source}|[0-9a-f]{64}`, 'g');
const BY_ID = `query ($id: ID!, $name: String!) {
  run(id: $id) { id name } tree(id: $id) { id } step(id: $id) { id observation } rollout(id: $id) { id } revision(id: $id) { id }
  dataset(id: $id) { id name } experiment(id: $id) { id } batch(id: $id) { id } policy(id: $name) { id }
  path(leaf: $id) { id } trajectory(rollout: $id) { rollout { id } } trace(id: $name) { kind id }
}`;
export const LISTS = `query ($after: String) {
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

function logsOf(run: string): object {
  const resource = { attributes: [{ key: 'espalier.run', value: { stringValue: run } }] };
  const place = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), timeUnixNano: '1700000000000000000' };
  const record = { ...place, eventName: 'gen_ai.user.message', body: { stringValue: 'q' } };
  return { resourceLogs: [{ resource, scopeLogs: [{ logRecords: [record] }] }] };
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
export const RULES: Readonly<Record<string, Rule>> = {
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
  'GET /v1/exports': of(
    ({ builder }) =>
      builder.events.flatMap(({ type, stream }) =>
        type === 'RunStarted' ? [{ path: `/v1/exports?format=jsonl&run=${stream}` }] : [],
      ),
    404,
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
  // as spans
  'POST /v1/logs': of(({ builder }) => {
    const runs = builder.events.flatMap(({ type, stream }) => (type === 'RunStarted' ? [stream] : []));
    return runs.map((run) => post('/v1/logs', logsOf(run)));
  }, 200),
  // a line that the record refuses is named in the answer
  'POST /v1/calls': of(({ builder }) => {
    const runs = builder.events.flatMap(({ type, stream }) => (type === 'RunStarted' ? [stream] : []));
    return runs.map((run) => post('/v1/calls', { lines: [{ kind: 'close', id: newId(), run }] }));
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
    fence,
    version: 1,
    checkpointId: newId(),
    backend: 'test',
    weights: WEIGHTS,
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
  'GET /v1/health': { kind: 'shared' },
  'GET /openapi.json': { kind: 'shared' },
  'GET /': { kind: 'shared' },
  ...(studio
    ? {
        'GET /endpoints': { kind: 'shared' },
        'GET /frame.html': { kind: 'shared' },
        'GET /view/{view}': of(() => [{ path: '/view/training' }], 200),
        'GET /view/{view}/{id}': of(({ lease }) => [{ path: `/view/run/${lease.leaseId}` }], 200),
        'GET /assets/{file}': of(() => [{ path: /\/assets\/[\w.-]+\.js/.exec(studio.page)?.[0] ?? '' }], 200),
      }
    : {}),
  'GET /metrics': { kind: 'closed' },
};

function textsOf(query: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}
