import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { connect } from '../postgres/pool.ts';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { freshTopic, record } from './contract/fixture.ts';
import { readAll } from './contract/watch.ts';
import { openEmbeddedLog } from './embedded-log.ts';
import { fetchRecords, type Session } from './embedded-log-session.ts';
import type { EventLog } from './event-log.ts';

const BEFORE = new URL('../../migrations/0044-lease-decisions.sql', import.meta.url);
const MIGRATION = new URL('../../migrations/0049-record-blocks.sql', import.meta.url);

let database: TestDatabase;
let client: Awaited<ReturnType<typeof connect>>;
let log: EventLog;
beforeAll(async () => {
  database = await createTestDatabase();
  client = await connect(database.url);
  log = await openEmbeddedLog({ url: database.url });
});
afterAll(async () => {
  await log.close();
  await client.end();
  await database.drop();
});

const ask: Session['ask'] = (question) => question(client);
const query = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows;

/** The partition of a topic that has one. */
async function partitionOf(topic: string): Promise<number> {
  const rows = await query('select partition_id from log_partitions join log_topics using (topic_id) where topic = $1', [topic]);
  return Number(rows[0]?.partition_id);
}

const blocksOf = async (partition: number) =>
  (await query('select first_offset as first from log_blocks where partition_id = $1 order by 1', [partition])).map(
    ({ first }) => first,
  );

/** Reads a partition by the statement of the release before. */
const viewed = async (partition: number, from: number) =>
  (
    await query(
      `select p.id, r."offset", r.key, r.value, (extract(epoch from r.received_at) * 1000)::bigint
       from (values (${partition}, ${from}::bigint)) as p (id, next) cross join lateral (
         select "offset", key, value, received_at, sum(octet_length(value)) over (order by "offset") - octet_length(value) as before
         from (select "offset", key, value, received_at from log_records
               where partition_id = p.id and "offset" >= p.next order by "offset" limit 1000) as run
       ) as r where r.before < 1000000000`,
    )
  ).map(({ offset, key, value }) => [offset, key, value.toString()]);

const bytes = (size: number, seed: number) => `${seed} `.padEnd(size, 'step of an agent '.slice(seed % 9)).slice(0, size);
const size = fc.oneof(fc.constantFrom(0, 1, 300, 1_801, 2_500), fc.integer({ min: 0, max: 9_000 }), fc.constant(70_000));

test('records of any sizes, appended in any batches, are read back from every offset by either reader', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(size, { minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 4 }),
      async (batches) => {
        const topic = await freshTopic(log);
        const partition = await partitionOf(topic);
        const appended: [number, string, string][] = [];
        for (const sizes of batches) {
          const records = sizes.map((each, i) => record(topic, `key ${i}`, bytes(each, appended.length + i)));
          await log.append(records);
          for (const { key, value } of records) appended.push([appended.length, key, Buffer.from(value).toString()]);
        }
        const last = appended.length - 1;
        for (const from of new Set([0, 3, Math.floor(last / 2), last])) {
          const fetched = (await fetchRecords({ ask } as Session, [{ partitionId: partition, next: from }], 1_000)).get(
            partition,
          );
          const read = (fetched ?? []).map(({ offset, key, value }) => [offset, key, Buffer.from(value).toString()]);
          expect(read).toEqual(appended.slice(from, from + read.length)); // a fetch has a limit of bytes
          expect(from > last || read.length > 0).toBe(true);
          expect(await viewed(partition, from)).toEqual(appended.slice(from));
        }
        expect((await readAll(log, topic, appended.length)).map(({ text }) => text)).toEqual(appended.map(([, , text]) => text));
      },
    ),
    { numRuns: 25 },
  );
});

test('records that Postgres would compress one by one are kept by eight, smaller and single ones by themselves', async () => {
  const topic = await freshTopic(log);
  const partition = await partitionOf(topic);
  await log.append(Array.from({ length: 20 }, (_, i) => record(topic, 'k', bytes(2_400, i))));
  expect(await blocksOf(partition)).toEqual([0, 8, 16]);
  await log.append([record(topic, 'k', bytes(2_400, 1))]);
  await log.append(Array.from({ length: 20 }, (_, i) => record(topic, 'k', bytes(1_200, i))));
  expect(await blocksOf(partition)).toEqual([0, 8, 16]);
  const alone = await query('select "offset" from log_rows where partition_id = $1 and block is null order by 1', [partition]);
  expect(alone.map(({ offset }) => offset)).toEqual(Array.from({ length: 21 }, (_, i) => 20 + i));
});

test('a record whose block is gone is no record of another block: reading ends with a fault', async () => {
  const topic = await freshTopic(log, 2);
  const ids = await query('select partition_id as id from log_partitions join log_topics using (topic_id) where topic = $1', [
    topic,
  ]);
  for (const partition of [0, 1])
    await log.append(Array.from({ length: 8 }, (_, i) => ({ ...record(topic, 'k', bytes(2_400, i)), partition })));
  const [first, second] = ids.map(({ id }) => Number(id));
  await query('delete from log_blocks where partition_id = $1', [second]);
  const runs = [first, second].map((partitionId) => ({ partitionId: partitionId ?? 0, next: 0 }));
  await expect(fetchRecords({ ask } as Session, runs, 1_000)).rejects.toThrow('not whole');
  expect((await query('select value from log_records where partition_id = $1', [second])).map(({ value }) => value)).toEqual(
    Array.from({ length: 8 }, () => null),
  );
});

/** Takes a database back to before the blocks: its table, and the function by which the release before appends. */
async function takeBack(old: typeof client): Promise<void> {
  await old.query(`drop view log_records cascade; drop table log_blocks; drop function log_records_insert;
    alter table log_rows rename to log_records;
    alter table log_records drop column block, drop column start, drop column length, alter column value set not null`);
  const [, appends = ''] = (await readFile(BEFORE, 'utf8')).split(/^(create function log_write\([\s\S]*?^end \$\$;)/m);
  await old.query(appends.replace('create function', 'create or replace function'));
}

test('an installation from before keeps its records, and an append of the release before that waited for the upgrade goes on', async () => {
  const before = await createTestDatabase();
  const old = await connect(before.url);
  try {
    await takeBack(old);
    await old.query(`insert into log_records values (7, 0, 'k', 'before')`);
    await old.query(await readFile(MIGRATION, 'utf8'));
    await old.query(
      `insert into log_records (partition_id, "offset", key, value, received_at) values (7, 1, 'k', 'behind', now())`,
    );
    const { rows } = await old.query('select "offset", value from log_records order by 1');
    expect(rows.map(({ value }) => value.toString())).toEqual(['before', 'behind']);
  } finally {
    await old.end();
    await before.drop();
  }
});

test('processes that append while the log is upgraded lose nothing and are refused nothing', async () => {
  const before = await createTestDatabase();
  const old = await connect(before.url);
  const logs = await Promise.all([0, 1, 2].map(() => openEmbeddedLog({ url: before.url })));
  const [reader] = logs;
  try {
    if (!reader) throw new TypeError('three logs were opened');
    const topic = await freshTopic(reader, 2);
    await takeBack(old);
    let ended = false;
    const appending = logs.map(async (each, of) => {
      for (let n = 0; !ended || n < 20; n++)
        await each.append(Array.from({ length: 10 }, (_, i) => record(topic, `key ${of}`, bytes(2_400, n * 10 + i))));
    });
    await setTimeout(200);
    await old.query(`begin; ${await readFile(MIGRATION, 'utf8')}; select pg_sleep(0.2); commit`); // appends wait for it
    await setTimeout(200);
    ended = true;
    await Promise.all(appending);
    const ends = [...((await reader.ends([topic])).get(topic)?.values() ?? [])].reduce((sum, end) => sum + end);
    const read = await readAll(reader, topic, ends);
    expect(read).toHaveLength(ends);
    for (const of of [0, 1, 2]) {
      const texts = read.filter(({ key }) => key === `key ${of}`).map(({ text }) => text);
      expect(texts).toEqual(texts.map((_, i) => bytes(2_400, i)));
      expect(texts.length).toBeGreaterThanOrEqual(200);
    }
  } finally {
    await Promise.all(logs.map((each) => each.close()));
    await old.end();
    await before.drop();
  }
});
