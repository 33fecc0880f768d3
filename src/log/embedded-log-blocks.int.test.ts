import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { connect } from '../postgres/pool.ts';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { freshTopic, record } from './contract/fixture.ts';
import { readAll } from './contract/watch.ts';
import { openEmbeddedLog } from './embedded-log.ts';
import { fetchRecords, type Session } from './embedded-log-session.ts';
import type { EventLog } from './event-log.ts';

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

/** Reads a partition through the view. */
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

test('records of any sizes, appended in any batches, are read back from every offset, through the view too', async () => {
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
