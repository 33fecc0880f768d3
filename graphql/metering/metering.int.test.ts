import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { localPrincipal, type Principal } from '../../src/postgres/principal.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { givenEvents } from '../../src/testing/given-events.ts';
import { openTestGraphql, type TestGraphql } from '../testing/open-test-graphql.ts';
import { readEvents } from '../testing/read-events.ts';
import type { BudgetOverrides } from './budgets.ts';

const DEPTH = 1_000;
let api: TestGraphql;
const builder = new EventBuilder('metering');
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
const within = (budgets: BudgetOverrides, clock: () => number = () => 0) => api.create({ budgets, clock });
const refused = (limit: string, used: unknown, allowed: number) => ({
  errors: [
    expect.objectContaining({
      message: expect.stringMatching(new RegExp(`^the budget "${limit}" allows ${allowed}, and \\d+ are used; `)),
      extensions: expect.objectContaining({ code: 'LIMIT_EXCEEDED', limit, actual: used, allowed }),
    }),
  ],
});

describe('the budget of a query', () => {
  test('many paths that a document is charged little for end when they have read the rows of the budget', async () => {
    const { ask } = await within({ query: { rows: 500 } });
    const answer = await ask(aliases(48, (i) => `path(leaf: "${step(-1 - i)}") { id }`));
    expect(answer).toEqual(refused('rows of a query', '501', 500)); // one error, and nothing of the data
    expect((await ask(`{ path(leaf: "${step(300)}") { id } }`)).data.path).toHaveLength(302);
  });

  test('texts end a query when they have as many bytes as the budget', async () => {
    const { ask } = await within({ query: { bytes: 10_000 } });
    expect(await ask(`{ path(leaf: "${step(-1)}") { observation } }`)).toEqual(
      refused('bytes read by a query', expect.any(String), 10_000),
    );
  });

  test('aliases of what is read once are charged for every field and character that they add to the answer', async () => {
    const repeated = aliases(40, () => `path(leaf: "${step(-1)}") { id }`);
    const fields = await within({ query: { fields: 10_000 } });
    expect(await fields.ask(repeated)).toEqual(refused('fields of an answer', '10001', 10_000));
    const characters = await within({ query: { answer: 100_000 } });
    expect(await characters.ask(repeated)).toEqual(refused('characters of an answer', expect.any(String), 100_000));
  });

  test('a query and its asOf fields share one budget', async () => {
    const { ask } = await within({ query: { rows: 1_500 } });
    const whole = `path(leaf: "${step(-1)}") { id }`;
    expect((await ask(`{ ${whole} }`)).errors).toBeUndefined();
    const at = `runs.0:1,trees.0:${builder.events.length - 1}`;
    expect(await ask(`{ ${whole} asOf(position: "${at}") { ${whole} } }`)).toEqual(refused('rows of a query', '1501', 1_500));
  });

  test('a statement that takes longer than its time ends the query', async () => {
    const { ask } = await within({ query: { statementMs: 50 } });
    const client = await api.database.pool.connect();
    await client.query('begin; lock table runs in access exclusive mode');
    try {
      expect(await ask('{ runs { nodes { id } } }')).toEqual(refused('milliseconds of a statement', '50', 50));
    } finally {
      await client.query('rollback');
      client.release();
    }
    expect((await ask('{ runs { nodes { id } } }')).errors).toBeUndefined();
  });
});

describe('the budget of a caller', () => {
  test('a key that has read its rows of a minute waits until they are given back, and other keys do not', async () => {
    let now = 0;
    const { ask, fetch } = await within({ key: { rowsPerMinute: 600 } }, () => now);
    const whole = `{ path(leaf: "${step(-1)}") { id } }`;
    // 1,001 steps on the way to the root, and as many with what they hold; their leaf, and the row of the path
    expect((await ask(whole, {}, first)).errors).toBeUndefined();
    expect(await ask('{ runs { nodes { id } } }', {}, first)).toEqual(
      refused('rows in a minute of a key', expect.stringMatching(/^200[2-9]$/), 600),
    );
    const answer = await fetch({ query: whole }, {}, first);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '141']);
    expect((await ask('{ runs { nodes { id } } }', {}, other)).errors).toBeUndefined();
    now = 141_000;
    expect((await ask('{ runs { nodes { id } } }', {}, first)).errors).toBeUndefined();
  });

  test('a key with a quota of its own may read so many rows in a minute', async () => {
    const { ask } = await within({ key: { rowsPerMinute: 1 } });
    const quota = { requestsPerMinute: null, bytesPerMinute: null, rowsPerMinute: 3_000 };
    const large = { principal: { ...holder('large'), quota } };
    const whole = `{ path(leaf: "${step(-1)}") { id } }`;
    for (let i = 0; i < 2; i++) expect((await ask(whole, {}, large)).errors).toBeUndefined();
    expect(await ask(whole, {}, large)).toEqual(refused('rows in a minute of a key', expect.stringMatching(/^400[4-9]$/), 3_000));
  });

  test('queries that wait for a position hold no turn, and no more of them are open than the budget of the key', async () => {
    const waits = heldNotices(3);
    const { ask } = await api.create({
      budgets: { key: { queries: 3, running: 1 }, server: { running: 1 } },
      clock: () => 0,
      notices: waits.notices,
    });
    await api.log.append([{ topic: 'runs', key: 'k', partition: 1, value: Buffer.from('{}') }]); // no projector runs
    const { position } = (await ask('{ position }')).data;
    const waiting = 'query ($position: String!) { waitFor(position: $position, timeoutMs: 60000) { waitedMs } }';
    const open = [first, first, first].map((caller) => ask(waiting, { position }, caller));
    await waits.reached;
    expect(await ask('{ position }', {}, first)).toEqual(refused('open queries of a key', '4', 3));
    expect((await ask('{ runs { nodes { id } } }', {}, other)).errors).toBeUndefined(); // there is one turn in all
    await api.database.pool.query("update projections set state = 'stopped', reason = 'by the test'");
    waits.release();
    for (const answer of await Promise.all(open)) expect(answer.errors?.[0]?.extensions.code).toBe('PROJECTION_STOPPED');
    await api.database.pool.query("update projections set state = 'running', reason = null");
    expect((await ask('{ position }', {}, first)).errors).toBeUndefined();
  });

  test('a query that waits longer for its turn than is allowed is refused, to be sent again', async () => {
    const { fetch } = await within({ server: { running: 0, waitMs: 1 } });
    const answer = await fetch({ query: '{ position }' }, {}, first);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '5']);
    expect(await answer.json()).toEqual(refused('milliseconds of waiting for a turn', '1', 1));
  });

  test('subscriptions are as many as the budget of their key and server, and one that ends makes room', async () => {
    const limits = { key: { subscriptions: 2 }, server: { subscriptions: 3 } };
    const limited = await within(limits);
    const begin = (caller: typeof first) => readEvents(limited, {}, caller);
    const refusedTo = (caller: typeof first) => begin(caller).then((reader) => reader.take(1));
    const readers = [await begin(first), await begin(first)];
    await expect(refusedTo(first)).rejects.toThrow(/subscriptions of a key.* allows 2, and 3 are used; follow several runs/);
    readers.push(await begin(other));
    await expect(refusedTo(other)).rejects.toThrow(/subscriptions of the server.* allows 3/);
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
