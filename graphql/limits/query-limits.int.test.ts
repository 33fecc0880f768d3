import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openDatabase } from '../../src/postgres/database.ts';
import { localPrincipal, type Principal } from '../../src/postgres/principal.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { givenEvents } from '../../src/testing/given-events.ts';
import { openTestGraphql, type TestGraphql } from '../testing/open-test-graphql.ts';
import { readEvents } from '../testing/read-events.ts';
import { Gate } from './gate.ts';
import type { Limits } from './limits.ts';

const DEPTH = 1_000;
let api: TestGraphql;
const builder = new EventBuilder('limits');
const tree = builder.tree(builder.run(), 'deep');
const deep = builder.walk(tree, 0, DEPTH, 1);
const first = { principal: holder('a') };
const other = { principal: holder('b') };

function holder(keyId: string): Principal {
  return { ...localPrincipal(), principal: `key:${keyId}`, keyId, name: keyId };
}

beforeAll(async () => {
  api = await openTestGraphql();
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

const aliases = (count: number, field: (i: number) => string) =>
  `{ ${Array.from({ length: count }, (_, i) => `p${i}: ${field(i)}`).join(' ')} }`;
const step = (i: number) => deep.steps.at(i) ?? '';
const within = (limits: Partial<Limits>) => api.create({ limits });
const refused = (limit: string, allowed: number) => ({
  errors: [
    expect.objectContaining({
      message: expect.stringMatching(new RegExp(`^the limit "${limit}" is ${allowed}, and this is \\d+; `)),
      extensions: expect.objectContaining({ code: 'LIMIT_EXCEEDED', limit, actual: expect.stringMatching(/^\d+$/), allowed }),
    }),
  ],
});

describe('the limits of a query', () => {
  test('many paths that a document is charged little for end when they have read as many rows as are allowed', async () => {
    const { ask } = await within({ rows: 500 });
    const answer = await ask(aliases(48, (i) => `path(leaf: "${step(-1 - i)}") { id }`));
    expect(answer).toEqual(refused('rows of a query', 500)); // one error, and nothing of the data
    expect((await ask(`{ path(leaf: "${step(300)}", first: 100) { id } }`)).data.path).toHaveLength(100);
  });

  test('aliases of what is read once count by every field and character that they add to the answer', async () => {
    const repeated = aliases(40, () => `path(leaf: "${step(-1)}") { id }`);
    const fields = await within({ answerFields: 10_000 });
    expect(await fields.ask(repeated)).toEqual(refused('fields of an answer', 10_000));
    const characters = await within({ answerCharacters: 100_000 });
    expect(await characters.ask(repeated)).toEqual(refused('characters of an answer', 100_000));
    expect((await characters.fetch({ query: repeated })).status).toBe(400);
    const [long, longer] = ['a'.repeat(60_000), 'b'.repeat(60_000)];
    expect(await characters.ask(`{ ${long}: position ${longer}: position }`)).toEqual(
      refused('characters of an answer', 100_000),
    );
  });

  test('a query and its asOf fields share one limit', async () => {
    const whole = `path(leaf: "${step(-1)}") { id }`;
    const at = `runs.0:1,trees.0:${builder.events.length - 1}`;
    const { ask } = await within({ rows: 1_500 });
    expect((await ask(`{ ${whole} }`)).errors).toBeUndefined();
    expect(await ask(`{ ${whole} asOf(position: "${at}") { ${whole} } }`)).toEqual(refused('rows of a query', 1_500));
  });

  test('a statement that takes longer than its connection allows is refused with what to do', async () => {
    const short = await openDatabase(api.url, { settings: { statement_timeout: '50' } });
    const { ask } = await api.create({ db: short.db });
    const client = await api.database.pool.connect();
    await client.query('begin; lock table runs in access exclusive mode');
    try {
      const { errors } = await ask('{ runs { nodes { id } } }');
      expect(errors?.[0]).toMatchObject({ extensions: { code: 'LIMIT_EXCEEDED', limit: 'statement' } });
    } finally {
      await client.query('rollback');
      client.release();
      await short.close();
    }
  });
});

describe('the turns of a key', () => {
  test('queries that wait for a position hold no turn, and no more of them are open than a key may have', async () => {
    const waits = heldNotices(3);
    const gate = new Gate({ queries: 3, running: 1, server: { running: 1, subscriptions: 1 } });
    const { ask } = await api.create({ gate, notices: waits.notices });
    await api.log.append([{ topic: 'runs', key: 'k', partition: 1, value: Buffer.from('{}') }]); // no projector runs
    const { position } = (await ask('{ position }')).data;
    const waiting = 'query ($position: String!) { waitFor(position: $position, timeoutMs: 60000) { waitedMs } }';
    const open = [first, first, first].map((caller) => ask(waiting, { position }, caller));
    await waits.reached;
    expect(await ask('{ position }', {}, first)).toEqual(refused('open queries of a key', 3));
    expect((await ask('{ runs { nodes { id } } }', {}, other)).errors).toBeUndefined(); // there is one turn in all
    await api.database.pool.query("update projections set state = 'stopped', reason = 'by the test'");
    waits.release();
    for (const answer of await Promise.all(open)) expect(answer.errors?.[0]?.extensions.code).toBe('PROJECTION_STOPPED');
    await api.database.pool.query("update projections set state = 'running', reason = null");
    expect((await ask('{ position }', {}, first)).errors).toBeUndefined();
  });

  test('a query that waits longer for its turn than is allowed is refused, to be sent again', async () => {
    const gate = new Gate({ waitMs: 1, server: { running: 1, subscriptions: 1 } });
    const { fetch } = await api.create({ gate });
    const leave = await gate.enter('another', new AbortController().signal);
    const answer = await fetch({ query: '{ position }' }, {}, first);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '5']);
    expect(await answer.json()).toEqual(refused('milliseconds of waiting for a turn', 1));
    leave();
    expect((await fetch({ query: '{ position }' }, {}, first)).status).toBe(200);
  });

  test('subscriptions are as many as their key and the server may have, and one that ends makes room', async () => {
    const limited = await api.create({ gate: new Gate({ subscriptions: 2, server: { running: 3, subscriptions: 3 } }) });
    const begin = (caller: typeof first) => readEvents(limited, {}, caller);
    const refusedTo = (caller: typeof first) => begin(caller).then((reader) => reader.take(1));
    const readers = [await begin(first), await begin(first)];
    await expect(refusedTo(first)).rejects.toThrow(/subscriptions of a key.* is 2, and this is 3; follow several runs/);
    readers.push(await begin(other));
    await expect(refusedTo(other)).rejects.toThrow(/subscriptions of the server.* is 3/);
    await readers.shift()?.leave();
    readers.push(await begin(first));
    for (const reader of readers) await reader.leave();
  });
});

/** Notices that never come: `reached` resolves when so many wait for one, and `release` lets them look again. */
function heldNotices(waiting: number) {
  const arrivals = new EventEmitter();
  const released = once(arrivals, 'release');
  const reached = once(arrivals, 'reached');
  let count = 0;
  const beyond = async () => {
    if (++count === waiting) arrivals.emit('reached');
    await released;
  };
  return { notices: { count: 0, beyond }, reached, release: () => void arrivals.emit('release') };
}
