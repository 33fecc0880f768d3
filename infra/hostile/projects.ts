import fc from 'fast-check';
import { newId } from '../../src/events/new-id.ts';
import { createKey, SCOPES } from '../../src/postgres/keys.ts';
import type { Stage } from './stage.ts';

const LIMIT_MS = 30_000;
const NAMES = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{64}/g;
const PROJECT_HEADERS = ['intruder', 'default', '*', '', 'default,intruder', '../default', '__proto__'];

/**
 * A key of one project, whatever its scope, with every id and digest of another one at every operation of the server: nothing of
 * the other project changes, and no answer has a name of it besides those in the request.
 */
export async function projectsProperty(stage: Stage): Promise<fc.IAsyncProperty<[Attempt]>> {
  const { platform, url, recorded } = stage;
  const { db } = platform.database;
  const keys = await Promise.all(
    SCOPES.map(async (scope) => (await createKey(db, { name: scope, scopes: [scope], projects: ['intruder'] })).key),
  );
  const events = [...recorded.builder.events];
  const names = new Set(JSON.stringify(events).match(NAMES));
  const { paths } = (await (await fetch(`${url.api}/openapi.json`, { headers: auth(keys[0] ?? '') })).json()) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => ({ path, method })));
  const own = new Set<string>(); // names that the intruder gave to captured runs of its own
  const attempt = fc.record({
    key: fc.oneof(fc.constantFrom(...keys), fc.constant(keys.at(-1) ?? '')), // the last is an administrator's
    operation: fc.constantFrom(...operations, ...Array(20).fill({ path: '/graphql', method: 'post' })),
    name: fc.constantFrom(...names, recorded.policyId),
    event: fc.constantFrom(...events),
    fresh: fc.boolean(),
    field: fc.constantFrom(...FIELDS),
    project: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, fc.constantFrom(...PROJECT_HEADERS)),
  });

  return fc.asyncProperty(attempt, async ({ key, operation, name, event, fresh, field, project }) => {
    const { method, path } = operation;
    if (path.startsWith('/v1/proxy')) own.add(name);
    const before = await stateOf(stage);
    const named = path.replaceAll(/\{\w+\}/g, encodeURIComponent(name));
    const body = JSON.stringify(
      path === '/graphql'
        ? { query: field, variables: { id: name } }
        : path === '/v1/events'
          ? { ...event, principal: undefined, project: undefined, ...(fresh ? { id: newId() } : {}) }
          : {
              policyId: 'hostile',
              consumer: 'x',
              ttlMs: 1_000,
              fence: 1,
              reason: 'x',
              version: 1,
              checkpointId: newId(),
              ...WEIGHTS,
            },
    );
    const headers = {
      ...auth(key),
      'content-type': 'application/json',
      ...(project === undefined ? {} : { 'espalier-project': project }),
    };
    const query = method === 'get' ? `?id=${encodeURIComponent(name)}&run=${encodeURIComponent(name)}` : '';
    const response = await fetch(`${url.api}${named}${query}`, {
      method: method.toUpperCase(),
      headers: { ...headers, 'x-espalier-run': name, 'accept-encoding': 'identity' },
      signal: AbortSignal.timeout(LIMIT_MS),
      ...(method === 'get' ? {} : { body }),
    });
    const text = await response.text();
    const sent = `${body} ${named} ${query}`;
    const leaked = (text.match(NAMES) ?? []).filter((each) => names.has(each) && !sent.includes(each) && !own.has(each));
    if (leaked.length > 0)
      throw new Error(`the answer has names of another project: ${leaked.slice(0, 3).join(', ')} in ${text.slice(0, 1_000)}`);
    if (path === '/v1/events' && response.ok) throw new Error(`an event of another project was accepted: ${text.slice(0, 200)}`);
    const after = await stateOf(stage);
    if (after !== before) throw new Error(`another project changed from ${before} to ${after} (answered ${response.status})`);
  });
}

interface Attempt {
  readonly key: string;
  readonly operation: { readonly path: string; readonly method: string };
  readonly name: string;
  readonly event: object;
  /** Sends the event under an id of its own. */
  readonly fresh: boolean;
  /** A GraphQL document. */
  readonly field: string;
  readonly project: string | undefined;
}

const WEIGHTS = { backend: 'test', weights: 'a'.repeat(64), kept: null };
const FIELDS = [
  ...['run', 'tree', 'step', 'rollout', 'batch', 'experiment', 'dataset', 'revision'].map(
    (field) => `query ($id: ID!) { ${field}(id: $id) { id } }`,
  ),
  'query ($id: String!) { trace(id: $id) { kind title } }',
  'query ($id: ID!) { path(leaf: $id) { id observation } }',
  '{ runs(first: 20) { totalCount nodes { id name } } trees(first: 20) { nodes { id } } policies { id } quarantine(first: 20) { nodes { reason } } }',
  'query ($id: ID!) { waitFor(position: "") { query { run(id: $id) { id } } } }',
  'query ($id: ID!) { asOf(time: "2100-01-01T00:00:00Z") { run(id: $id) { id } runs { totalCount } } }',
];
const auth = (key: string) => ({ authorization: `Bearer ${key}` });

/** What the other project has: the events in its streams, and its leases. Good requests of the stage are left out. */
async function stateOf({ platform, recorded }: Stage): Promise<string> {
  const streams = [...new Set(recorded.builder.events.map(({ stream }) => stream))];
  const { rows } = await platform.database.pool.query<{ state: string }>(
    `select concat_ws(' ',
       (select count(*) from events where stream = any($1) and type <> 'MetricRecorded'),
       (select count(*) from lease_grants where lineage_id = $2),
       (select string_agg(concat_ws('/', policy_id, version, weights, next_ordinal, fence), ',') from lease_desk where lineage_id = $2)
     ) as state`,
    [streams, recorded.lineageId],
  );
  return rows[0]?.state ?? '';
}
