import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { prepareEvents } from '../../src/append/prepare-events.ts';
import { DEFAULT_STAMP, type Envelope } from '../../src/events/envelope.ts';
import { newId } from '../../src/events/new-id.ts';
import { pack } from '../../src/events/packed.ts';
import { localPrincipal, type Principal } from '../../src/postgres/principal.ts';
import { readableTables, type TableName } from '../../src/projections/tables/tables.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { appendTo, givenEvents, testLog } from '../../src/testing/given-events.ts';
import { recordBatches } from '../../src/testing/record-batches.ts';
import { until } from '../../src/testing/until.ts';
import { Gate } from '../limits/gate.ts';
import { openTestGraphql, type TestGraphql } from '../testing/open-test-graphql.ts';
import { createTables } from './create-tables.ts';
import { readTable } from './table-testing.ts';

const LARGE = 'a very long observation. '.repeat(4_000);

let api: TestGraphql;
let tables: ReturnType<typeof createTables>;
const builder = new EventBuilder('tables');
const run = builder.run('first');
const trees = ['a', 'b', 'c'].map((name) => builder.tree(run, name));
const walks = trees.map((tree, i) => [builder.walk(tree, 0, 2, i), builder.walk(tree, 1, 3, 1 - i)]);
const other = builder.run('second');
const tokens = { ids: pack('int32', [7, 8, 9]), logProbs: pack('float32', [-0.5, -1, -2]), mask: pack('uint8', [1, 1, 0]) };
const sampled = builder.tree(other, 'sampled');
const sampledStep = builder.step(sampled, builder.rollout(sampled), sampled.rootStepId, 1, { tokens, observation: LARGE });
const mine: Principal = {
  principal: 'key:atlas',
  keyId: 'atlas',
  name: 'atlas',
  scopes: ['read'],
  project: 'atlas',
  projects: ['atlas'],
};

beforeAll(async () => {
  recordBatches(builder, { policyId: 'trained', batches: 2, members: 2 });
  api = await openTestGraphql();
  const records = await prepareEvents(builder.events, api.blobs, DEFAULT_STAMP);
  await givenEvents(api.database.db, records as unknown as Envelope[]); // a log of tests takes records too
  tables = createTables({ ...worldOf(api), gate: new Gate() });
});
afterAll(() => api.close());

function worldOf({ database, blobs, snapshots }: TestGraphql) {
  return { db: database.db, blobs, snapshots };
}

async function get(table: string, query: Record<string, string> = {}, principal = localPrincipal(), headers = {}) {
  const search = new URLSearchParams(query);
  return tables.fetch(new Request(`http://api/v1/tables/${table}?${search}`, { headers }), { principal });
}

async function read(table: TableName, query: Record<string, string> = {}, principal?: Principal) {
  const answer = await get(table, query, principal);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (answer.status !== 200) throw new Error(`${answer.status}: ${Buffer.from(bytes).toString()}`);
  return readTable(bytes);
}

describe('tables as Arrow streams', () => {
  test('every table has the columns that it lists, whatever is chosen, and says that it ended', async () => {
    for (const name of Object.keys(readableTables) as TableName[]) {
      const all = await read(name);
      const none = await read(name, { run: newId() });
      const columns = readableTables[name].columns.map((column) => column.name);
      expect([name, all.schema.fields.map((field) => field.name), all.end]).toEqual([name, columns, 'end']);
      expect([name, none.rows, none.end]).toEqual([name, [], 'end']);
      expect(none.schema.fields.map(String)).toEqual(all.schema.fields.map(String));
      expect(all.rows.length).toBeGreaterThan(0);
    }
  });

  test('trajectories are those that GraphQL lists, by the same filters', async () => {
    const FIELDS = 'nodes { id treeId return length rollout { runId outcome success policy { id version } finishedAt } }';
    const cases: [Record<string, string>, string][] = [
      [{}, '{}'],
      [{ run }, `{ run: "${run}" }`],
      [{ run, success: 'false' }, `{ run: "${run}", success: false }`],
      [{ returnFrom: '1', stepsUntil: '3' }, '{ return: { from: 1 }, stepCount: { until: 3 } }'],
      [
        { policy: 'random', policyVersion: '0', outcome: 'terminated,failed' },
        '{ policy: "random", policyVersion: { from: 0, until: 1 }, outcomes: [terminated, failed] }',
      ],
      [{ tree: trees[1]?.treeId ?? '' }, `{ tree: "${trees[1]?.treeId}" }`],
    ];
    for (const [query, filter] of cases) {
      const { rows } = await read('trajectories', query);
      const { data } = await api.ask(`{ trajectories(first: 500, filter: ${filter}) { ${FIELDS} } }`);
      const listed = data.trajectories.nodes.map((node: Listed) => ({
        rollout_id: node.id,
        tree_id: node.treeId,
        return: node.return,
        length: node.length,
        run_id: node.rollout.runId,
        outcome: node.rollout.outcome,
        success: node.rollout.success,
        policy_id: node.rollout.policy.id,
        policy_version: node.rollout.policy.version,
        finished_at: Date.parse(node.rollout.finishedAt),
      }));
      const picked = rows.map((row) => Object.fromEntries(Object.keys(listed[0] ?? {}).map((name) => [name, row[name]])));
      expect(sorted(picked)).toEqual(sorted(listed));
      expect(listed.length).toBeGreaterThan(0);
    }
  });

  test('floats are float64 and instants have microseconds in UTC, also where every value is whole', async () => {
    const { schema } = await read('trajectories', { columns: 'return,finished_at,policy_version,seed,success' });
    expect(schema.fields.map((field) => `${field.name}: ${field.type}`)).toEqual([
      'policy_version: Int32',
      'success: Bool',
      'return: Float64',
      'seed: Int64',
      'finished_at: Timestamp<MICROSECOND, UTC>',
    ]);
  });

  test('a step has its token ids, log-probs and mask as they were sampled, and its large text from the blob store', async () => {
    const { rows } = await read('steps', { run: other });
    const row = rows.find(({ step_id }) => step_id === sampledStep);
    expect(row).toMatchObject({ token_ids: [7, 8, 9], log_probs: [-0.5, -1, -2], token_mask: [1, 1, 0], observation: LARGE });
    expect(row).toMatchObject({ depth: 1, forgotten: false, policy_id: 'random', policy_version: 0, action: 'inventory' });
  });

  test('a text that the blob store lacks ends the stream with what is wrong and the remedy', async () => {
    const { BlobMissing } = await import('../../src/blobs/blob-store.ts');
    const blobs = { get: async () => Promise.reject(new BlobMissing('gone')) };
    const without = createTables({ ...worldOf(api), blobs, gate: new Gate() });
    const asked = new Request(`http://api/v1/tables/steps?run=${other}`);
    const answer = await without.fetch(asked, { principal: localPrincipal() });
    const { end, error = '{}' } = readTable(new Uint8Array(await answer.arrayBuffer()));
    expect([end, JSON.parse(error)]).toEqual([
      undefined,
      { code: 'unreadable', message: expect.stringContaining('observation: the blob store'), remedy: expect.any(String) },
    ]);
  });

  test('samples and batches say what became of each', async () => {
    const samples = await read('samples', { policy: 'trained' });
    const batches = await read('batches', { policy: 'trained' });
    expect(batches.rows.map(({ ordinal, state, samples: count, policy_id }) => [ordinal, state, count, policy_id])).toEqual([
      [0, 'planned', 2, 'trained'],
      [1, 'planned', 2, 'trained'],
    ]);
    expect(samples.rows).toHaveLength(4);
    for (const { state, policy_id, scores } of samples.rows) {
      const amounts = scores as readonly { readonly component: string; readonly value: number }[];
      const named = new Map(amounts.map(({ component, value }) => [component, typeof value]));
      expect([state, policy_id, named.get('environment'), named.get('format')]).toEqual([
        'planned',
        'trained',
        'number',
        'number',
      ]);
    }
    expect(await read('batches', { run })).toMatchObject({ rows: [], end: 'end' });
  });

  test('rewards name the rollout that took their step', async () => {
    const { rows } = await read('rewards', { run, component: 'environment' });
    const rollouts = walks.flat().map(({ rolloutId }) => rolloutId);
    expect(sorted(rows.map(({ rollout_id }) => rollout_id))).toEqual(sorted(rollouts));
    const { rows: high } = await read('rewards', { run, valueFrom: '1', success: 'true' });
    expect(high.map(({ value }) => value)).toEqual(expect.arrayContaining([1]));
    expect(Math.min(...high.map(({ value }) => Number(value)))).toBe(1);
  });
});

describe('a table that is read in parts', () => {
  test.each(Object.keys(readableTables) as TableName[])('%s, gone on with behind any row, has every row once', async (name) => {
    const whole = await read(name);
    for (const limit of ['1', '2', '5']) {
      const rows: unknown[] = [];
      let after: string | undefined;
      for (let ended = false; !ended; ) {
        const part: Awaited<ReturnType<typeof read>> = await read(name, { limit, ...(after === undefined ? {} : { after }) });
        rows.push(...part.rows);
        after = part.batches.findLast(({ metadata }) => metadata['espalier.after'])?.metadata['espalier.after'] ?? after;
        ended = part.end === 'end';
      }
      expect(rows).toEqual(whole.rows);
    }
  });

  test('several runs are read one after the other, and gone on with in the middle of one', async () => {
    const both = await read('trajectories', { run: `${run},${other}` });
    const first = await read('trajectories', { run: `${other},${run}`, limit: '4' });
    const after = first.batches[0]?.metadata['espalier.after'] ?? '';
    const rest = await read('trajectories', { run: `${run},${other}`, after });
    expect([...first.rows, ...rest.rows]).toEqual(both.rows);
  });

  test('every whole batch of a broken answer is read, and says where to go on', async () => {
    const whole = new Uint8Array(await (await get('steps')).arrayBuffer());
    const cut = readTable(whole.subarray(0, whole.length - 300));
    expect(cut.end).toBeUndefined();
    const after = cut.batches.at(-1)?.metadata['espalier.after'];
    const rest = await read('steps', after === undefined ? {} : { after });
    expect([...cut.rows, ...rest.rows]).toEqual(readTable(whole).rows);
  });

  test('a compressed answer holds the same bytes', async () => {
    const plain = Buffer.from(await (await get('steps')).arrayBuffer());
    const answer = await get('steps', {}, localPrincipal(), { 'accept-encoding': 'deflate, gzip;q=0.5' });
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    const stream = answer.body?.pipeThrough(new DecompressionStream('gzip') as never);
    expect(Buffer.from(await new Response(stream).arrayBuffer()).equals(plain)).toBe(true);
  });
});

describe('what a table may show', () => {
  test('a table as of a position is what it was when the record ended there', async () => {
    const own = await openTestGraphql();
    try {
      const at = createTables({ ...worldOf(own), gate: new Gate() });
      const earlier = new EventBuilder('earlier');
      const tree = earlier.tree(earlier.run('revised'), 'x');
      const walk = earlier.walk(tree, 0, 1, 1);
      const log = testLog();
      appendTo(log, earlier.events);
      const position = [...log.topics].map(([topic, records]) => `${topic}.0:${records.length}`).join(',');
      earlier.walk(tree, 1, 1, 0);
      await givenEvents(own.database.db, earlier.events);
      const rolloutsAt = async (query: string) => {
        const answer = await at.fetch(new Request(`http://api/v1/tables/trajectories?${query}`), { principal: localPrincipal() });
        if (answer.status !== 200) throw new Error(await answer.text());
        return readTable(new Uint8Array(await answer.arrayBuffer())).rows.map(({ rollout_id }) => rollout_id);
      };
      expect(await rolloutsAt('')).toHaveLength(2);
      expect(await rolloutsAt(new URLSearchParams({ asOf: position }).toString())).toEqual([walk.rolloutId]);
      expect(await rolloutsAt(new URLSearchParams({ asOf: position, run: tree.runId }).toString())).toEqual([walk.rolloutId]);
      const beyond = await at.fetch(new Request('http://api/v1/tables/steps?asOf=runs.0:99'), { principal: localPrincipal() });
      expect([beyond.status, await beyond.json()]).toMatchObject([
        400,
        { error: { message: expect.stringContaining('lies beyond') } },
      ]);
    } finally {
      await own.close();
    }
  });

  test('a key of one project reads the rows of its project alone', async () => {
    const theirs = new EventBuilder('theirs');
    const tree = theirs.tree(theirs.run('the run of atlas'), 'theirs');
    const { rolloutId } = theirs.walk(tree, 0, 2, 1);
    const { batchIds } = recordBatches(theirs, { policyId: 'of atlas' });
    const stamped = theirs.events.map((event) => ({ ...event, principal: 'key:atlas', project: 'atlas' }) as Envelope);
    await givenEvents(api.database.db, stamped);
    expect((await read('trajectories', { run: tree.runId }, mine)).rows.map(({ rollout_id }) => rollout_id)).toEqual([rolloutId]);
    expect((await read('trajectories', { run }, mine)).rows).toEqual([]);
    expect((await read('batches', {}, mine)).rows.map(({ batch_id }) => batch_id)).toEqual(batchIds);
    for (const name of ['steps', 'rewards', 'samples'] as const)
      for (const row of (await read(name, {}, mine)).rows) expect(stamped.map(({ stream }) => stream)).toContain(row.tree_id);
  });

  test('what is forgotten is null, and the row says so', async () => {
    const gone = new EventBuilder('gone');
    const tree = gone.tree(gone.run('gone'), 'gone');
    gone.walk(tree, 0, 1, 1);
    await givenEvents(api.database.db, gone.events);
    await sql`insert into stream_keys (key_id, stream, destroyed_at) values (${newId()}, ${tree.treeId}, now())`.execute(
      api.database.db,
    );
    const { rows } = await read('steps', { run: tree.runId });
    expect(
      rows.map(({ forgotten, action, observation, response, thought }) => [forgotten, action, observation, response, thought]),
    ).toEqual([
      [true, null, null, null, null],
      [true, null, null, null, null],
    ]);
    expect((await read('trajectories', { run: tree.runId })).rows).toMatchObject([{ forgotten: true, reason: null, return: 1 }]);
  });
});

describe('a request that is wrong, or too much', () => {
  test.each([
    [{ runn: 'x' }, 'runn'],
    [{ run: 'x' }, 'must be UUIDs'],
    [{ success: 'yes' }, 'success'],
    [{ columns: 'return,retrun' }, 'retrun'],
    [{ after: 'x' }, 'is no cursor of this table'],
    [{ asOf: 'x' }, 'is no position'],
    [{ asOf: 'runs.0:1', asOfTime: '2026-01-01T00:00:00Z' }, 'one of them'],
    [{ finishedFrom: '2026-01-01' }, 'must be an instant with its zone'],
  ] as [Record<string, string>, string][])('%p is refused by what is wrong', async (query, said) => {
    const answer = await get('trajectories', query);
    expect([answer.status, JSON.stringify(await answer.json())]).toEqual([400, expect.stringContaining(said)]);
  });

  test('a third table of one key is asked to come back, until one has been read', async () => {
    const open = [await get('steps'), await get('steps')];
    const third = await get('steps');
    expect([third.status, third.headers.get('retry-after')]).toEqual([429, '1']);
    for (const answer of open) await answer.body?.cancel();
    await until(async () => {
      const answer = await get('steps');
      await answer.body?.cancel();
      return answer.status === 200;
    });
  });

  test('the transaction of a client that left ends', async () => {
    const left = new AbortController();
    const asked = new Request('http://api/v1/tables/steps', { signal: left.signal });
    const answer = await tables.fetch(asked, { principal: localPrincipal() });
    left.abort();
    await answer.body?.cancel();
    const idle = sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
      where datname = current_database() and state = 'idle in transaction'`;
    await until(async () => (await idle.execute(api.database.db)).rows[0]?.count === 0);
  });
});

interface Listed {
  readonly id: string;
  readonly treeId: string;
  readonly return: number;
  readonly length: number;
  readonly rollout: {
    readonly runId: string;
    readonly outcome: string;
    readonly success: boolean;
    readonly policy: { readonly id: string; readonly version: number };
    readonly finishedAt: string;
  };
}

function sorted<T>(items: readonly T[]): readonly T[] {
  return [...items].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
