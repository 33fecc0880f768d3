import fc from 'fast-check';
import { newId } from '../../../src/events/new-id.ts';
import { type Held, headerOf } from '../attack-keys.ts';
import { hostileText } from '../hostile-values.ts';
import { type Answered, outcomeOf, request } from '../request.ts';
import type { Stage } from '../stage.ts';
import { Broken, type Outcome, target } from '../target.ts';

const INTRUDER = 'intruder';
const NAMES = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{64}/g;
const ROUTES = [
  ...(['event', 'event again', 'run', 'tree', 'step', 'rollout', 'batch', 'trace', 'path', 'lists', 'waiting', 'image'] as const),
  ...(['lease', 'renew', 'ack', 'nack', 'abandon', 'abandon batch', 'rows', 'register', 'declare', 'key', 'schemas'] as const),
  ...(['models', 'chat'] as const),
] as const;
type RouteName = (typeof ROUTES)[number];

interface Tried {
  readonly held: Held;
  readonly route: RouteName;
  /** Chooses one of the names, or of the events, of the other project. */
  readonly name: number;
  /** The header espalier-project; null leaves it out. */
  readonly project: string | null;
}

const HELD: readonly Held[] = ['admin', 'ingest', 'judge', 'read', 'train'];
const tried = (held: Held, route: RouteName, name = 0, project: string | null = null): Tried => ({ held, route, name, project });

/**
 * A key of one project, an administrator's too, with every id and digest of another one at every endpoint: nothing is accepted
 * there, and no answer holds a name of the other project besides the one that was sent.
 */
export const projectsTarget = target<Tried>({
  name: 'projects',
  always: [
    ...ROUTES.flatMap((route) => [0, 7].map((name) => tried('admin', route, name))),
    ...HELD.map((held) => tried(held, 'event', 3)),
    ...['default', '*', '', "default' or true", '{default}', 'DEFAULT'].map((project) => tried('admin', 'lists', 0, project)),
  ],
  cases: fc.record({
    held: fc.constantFrom(...HELD),
    route: fc.constantFrom(...ROUTES),
    name: fc.nat(10_000),
    project: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(null, INTRUDER) },
      { weight: 1, arbitrary: hostileText.map((text) => text.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, 200)) },
    ),
  }),
  way: { process: 'api', send },
});

async function send(stage: Stage, { held, route, name, project }: Tried): Promise<Outcome> {
  const headers = {
    ...(await headerOf(stage, held, INTRUDER)),
    ...(project === null ? {} : { 'espalier-project': project }),
  };
  const { server = 'api', ...asked } = await askedFor(stage, route, name);
  let answered: Answered;
  for (let left = RETRIES; ; left--) {
    answered = await request(`${stage.url[server]}${asked.path}`, { ...asked, type: 'application/json', headers });
    if (answered.status !== 503 || left === 0 || !/behind the log/.test(answered.text)) break;
  }
  const sent = JSON.stringify(asked);
  const leaked = [...new Set(answered.text.match(NAMES))].filter((each) => !sent.includes(each) && namesOf(stage).has(each));
  if (leaked.length > 0) throw new Broken(`answered names of another project: ${leaked.slice(0, 3).join(', ')}`);
  const outcome = outcomeOf(answered);
  if (outcome.kind === 'accepted' && DECIDES.has(route)) throw new Broken(`accepted ${route}: ${answered.text.slice(0, 200)}`);
  if (outcome.kind === 'accepted' && route === 'models' && !/"data":\[\]/.test(answered.text))
    throw new Broken(`listed the model of another project: ${answered.text.slice(0, 200)}`);
  return outcome;
}
const RETRIES = 10; // 2 s each
/** What changes the record, or returns something that is named: none of it is the intruder's. */
const DECIDES: ReadonlySet<RouteName> = new Set<RouteName>([
  ...(['event', 'event again', 'image', 'lease', 'renew', 'ack', 'nack', 'abandon', 'abandon batch', 'rows'] as const),
  ...(['register', 'declare', 'chat'] as const),
]);

interface Asked {
  readonly server?: 'api' | 'policy';
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

async function askedFor(stage: Stage, route: RouteName, at: number): Promise<Asked> {
  const { builder, batchIds, policyId } = stage.recorded;
  const names = [...namesOf(stage)];
  const ids = names.filter((name) => name.length === 36);
  const id = ids[at % ids.length] ?? '';
  const get = (path: string): Asked => ({ method: 'GET', path });
  const post = (path: string, body: object): Asked => ({ method: 'POST', path, body: JSON.stringify(body) });
  const query = (text: string, variables: object = { id }) => post('/graphql', { query: text, variables });
  const byId = (field: string) => query(`query ($id: ID!) { ${field}(id: $id) { id } }`);
  const lease = async () => `/v1/training/leases/${(await lastLease(stage)) ?? id}`;
  switch (route) {
    case 'event':
    case 'event again': {
      const { principal: _, project: __, ...event } = builder.events[at % builder.events.length] ?? {};
      return post('/v1/events', route === 'event' ? { ...event, id: newId() } : event);
    }
    case 'run':
    case 'tree':
    case 'step':
    case 'rollout':
    case 'batch':
      return byId(route);
    case 'trace':
      return query('query ($id: String!) { trace(id: $id) { kind title } }', { id: names[at % names.length] });
    case 'path':
      return query('query ($id: ID!) { path(leaf: $id) { id observation } }');
    case 'lists':
      return query('{ runs(first: 20) { totalCount nodes { id } } trees(first: 20) { nodes { id } } policies { id } }', {});
    case 'waiting':
      return query('query ($id: ID!) { waitFor(position: "") { query { run(id: $id) { id } } } }');
    case 'image':
      return get(`/images/${names.filter((name) => name.length === 64)[at % 7] ?? 'a'.repeat(64)}.png`);
    case 'lease':
      return post('/v1/training/leases', { policyId, consumer: 'intruder', ttlMs: 60_000 });
    case 'renew':
      return post(`${await lease()}/renew`, { fence: (at % 5) + 1, ttlMs: 60_000 });
    case 'ack': {
      const made = { version: 1, checkpointId: newId(), backend: 'test', weights: 'a'.repeat(64) };
      return post(`${await lease()}/ack`, { fence: (at % 5) + 1, ...made });
    }
    case 'nack':
    case 'abandon':
      return post(`${await lease()}/${route}`, { fence: (at % 5) + 1, reason: 'of the intruder' });
    case 'abandon batch':
      return post(`/v1/training/batches/${batchIds[at % batchIds.length]}/abandon`, { reason: 'of the intruder' });
    case 'rows':
      return get(`${await lease()}/rows`);
    case 'register':
      return post('/v1/training/policies', { policyId, backend: 'test', weights: 'b'.repeat(64), kept: null });
    case 'declare':
      return { ...post(`/v1/training/policies/${policyId}`, { backend: 'test', weights: 'b'.repeat(64) }), method: 'PUT' };
    case 'key':
      return get('/v1/key');
    case 'schemas':
      return get('/v1/schemas');
    case 'models':
      return { server: 'policy', ...get('/v1/models') };
    case 'chat': {
      const chat = { model: 'random', messages: [{ role: 'user', content: 'Goal: x' }], admissible_actions: ['a', 'b'] };
      return { server: 'policy', ...post('/v1/chat/completions', chat) };
    }
    default:
      return route satisfies never;
  }
}

const known = new WeakMap<Stage, ReadonlySet<string>>();

/** The ids and digests of what the stage recorded at its beginning, in the project `default`. */
function namesOf(stage: Stage): ReadonlySet<string> {
  const names = known.get(stage) ?? new Set(JSON.stringify(stage.recorded.builder.events).match(NAMES));
  known.set(stage, names);
  return names;
}

async function lastLease({ platform }: Stage): Promise<string | undefined> {
  const { rows } = await platform.database.pool.query<{ lease_id: string }>('select lease_id from lease_grants limit 1');
  return rows[0]?.lease_id;
}
