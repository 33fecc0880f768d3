import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { prepareEvents } from '../append/prepare-events.ts';
import { TOPICS } from '../events/catalogue.ts';
import { DEFAULT_STAMP } from '../events/envelope.ts';
import { openEmbeddedLog } from '../log/embedded-log.ts';
import type { EventLog, LogRecord } from '../log/event-log.ts';
import { partitionForKey } from '../log/partition-for-key.ts';
import { readLayouts } from '../postgres/log-layouts.ts';
import { runProjections } from '../projections/runner.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { MemoryBlobs } from '../testing/memory-blobs.ts';
import { openTestWorld, type TestWorld } from '../testing/open-test-log.ts';
import { adoptPartitions, planAdoption } from '../usecases/log/adopt-partitions.ts';
import { type OnLogFaults, openRecordedLog } from './open-recorded-log.ts';

const PARTITIONS = 3;
const signal = new AbortController().signal;
let world: TestWorld;
const opened: EventLog[] = [];
beforeEach(async () => {
  world = await openTestWorld(PARTITIONS);
});
afterEach(async () => {
  for (const log of opened.splice(0)) await log.close();
  await world.close();
});

/** Opens the log as another process does. */
async function open(onFaults: OnLogFaults = 'refuse', name = 'test') {
  const bare = await openEmbeddedLog({ url: world.url });
  opened.push(bare);
  const found = await openRecordedLog(bare, world.database.db, { name, topics: TOPICS, partitions: PARTITIONS, onFaults });
  opened.push(found.log);
  return found;
}

/** Adds partitions to every topic behind everybody's back, as an administrator of a cluster may. */
async function grow(partitions: number): Promise<void> {
  await world.database.pool.query(
    `insert into log_partitions (topic_id, partition)
     select topic_id, p from log_topics, generate_series((select max(partition) + 1 from log_partitions), $1::int - 1) p`,
    [partitions],
  );
}

async function fold(log: EventLog): Promise<void> {
  const runner = await runProjections({ log, database: world.database });
  try {
    await world.settled();
  } finally {
    await runner.close();
  }
}

const builder = new EventBuilder('recorded log');
const runId = builder.run();
const streams = Array.from({ length: 12 }, (_, i) => builder.tree(runId, `tree ${i}`).treeId);
const moved = streams.find((stream) => partitionForKey(stream, PARTITIONS) !== partitionForKey(stream, 5)) ?? '';
const recordOf = (key: string, topic = 'trees'): LogRecord => ({ topic, key, value: Buffer.from('{}') });
const partitionOf = async (log: EventLog, key: string) => (await log.append([recordOf(key)]))[0]?.partition;

describe('a log by its recorded partitions', () => {
  test('partitions that were added serve nobody: streams, ends and positions are as before', async () => {
    const before = (await open()).log;
    const places = new Map<string, number | undefined>();
    for (const stream of streams) places.set(stream, await partitionOf(before, stream));
    const ends = await before.ends(TOPICS);
    await grow(5);
    const after = (await open()).log;
    expect(await after.ends(TOPICS)).toEqual(ends);
    for (const stream of streams) expect(await partitionOf(after, stream)).toBe(places.get(stream));
    for (const stream of streams) expect(await partitionOf(before, stream)).toBe(places.get(stream));
  });

  test('after the adoption streams that were there stay, new ones use all partitions, and processes that were open agree', async () => {
    const early = (await open()).log;
    await early.append(await prepareEvents(builder.events, new MemoryBlobs(), DEFAULT_STAMP));
    await fold(early);
    await grow(5);
    const adopting = (await open('adopt')).log;
    const plan = await planAdoption({ log: adopting, database: world.database });
    expect(plan.topics.find(({ topic }) => topic === 'trees')).toEqual({ topic: 'trees', used: 3, has: 5, streams: 12 });
    expect(plan.appenders.map(({ name }) => name)).toEqual(['test']);
    expect((await adoptPartitions({ log: adopting, database: world.database }, { limitMs: 20_000, signal })).topics).toEqual(
      plan.topics,
    );
    expect((await planAdoption({ log: adopting, database: world.database })).topics).toEqual([]);
    const late = (await open()).log;
    const fresh = Array.from({ length: 20 }, (_, i) => builder.id(`fresh ${i}`));
    expect(new Set(fresh.map((stream) => partitionForKey(stream, 5)))).toContain(4);
    for (const log of [early, late]) {
      for (const stream of streams) expect(await partitionOf(log, stream)).toBe(partitionForKey(stream, PARTITIONS));
      for (const stream of fresh) expect(await partitionOf(log, stream)).toBe(partitionForKey(stream, 5));
      expect((await log.ends(['trees'])).get('trees')?.size).toBe(5);
    }
  });

  test('appends wait while partitions are adopted, in the order of the calls, and none is lost', async () => {
    const { log } = await open();
    await partitionOf(log, streams[0] ?? '');
    await grow(4);
    const adopting = (await open('adopt')).log;
    const appending = (async () => {
      const receipts = [];
      for (let i = 0; i < 40; i++) receipts.push(log.append([recordOf(moved), recordOf(builder.id(`during ${i}`))]));
      return (await Promise.all(receipts)).flat();
    })();
    const runner = await runProjections({ log: adopting, database: world.database });
    await adoptPartitions({ log: adopting, database: world.database }, { limitMs: 20_000, signal });
    await runner.close();
    const receipts = await appending;
    const own = receipts.filter((_, i) => i % 2 === 0).map(({ offset }) => offset);
    expect(own).toEqual([...own].sort((a, b) => a - b));
    expect(new Set(receipts.map(({ partition, offset }) => `${partition}:${offset}`)).size).toBe(80);
  });

  test('records that are appended and folded while a log is opened are no records that it lost', async () => {
    const { log } = await open();
    const busy = {
      ...world.log,
      async extents(topics: readonly string[]) {
        const found = await world.log.extents(topics);
        await log.append(await prepareEvents(builder.events, new MemoryBlobs(), DEFAULT_STAMP));
        await fold(log);
        return found;
      },
    };
    const options = { name: 'late', topics: TOPICS, partitions: PARTITIONS, onFaults: 'report' } as const;
    const opening = await openRecordedLog(busy, world.database.db, options);
    opened.push(opening.log);
    expect(opening.faults).toEqual([]);
  });

  test('a process that appends and does not answer is waited for, and the refusal names it', async () => {
    await open();
    await grow(4);
    await world.database.pool.query("insert into log_appenders (appender, name) values (gen_random_uuid(), 'collect')");
    const adopting = (await open('adopt')).log;
    const adopt = () => adoptPartitions({ log: adopting, database: world.database }, { limitMs: 400, signal });
    await expect(adopt()).rejects.toThrow(/1 process that appends has not acknowledged the adoption \(collect, last seen/);
    expect([...(await readLayouts(world.database.db)).values()].map((layouts) => layouts.length)).toEqual(TOPICS.map(() => 1));
    await world.database.pool.query("update log_appenders set confirmed_at = now() - interval '5 minutes'");
    await adoptPartitions({ log: adopting, database: world.database }, { limitMs: 20_000, signal });
    expect((await readLayouts(world.database.db)).get('trees')).toHaveLength(2);
  });

  test('records in partitions that nobody adopted are refused at the start, and adopted where they lie', async () => {
    const { log } = await open();
    await grow(5);
    const stray = builder.events.find(({ stream }) => stream === moved);
    const [record] = await prepareEvents(stray ? [stray] : [], new MemoryBlobs(), DEFAULT_STAMP);
    await world.log.append(record ? [{ ...record, partition: 4 }] : []);
    await expect(open()).rejects.toThrow(
      'the log is not as it was recorded: trees.4 holds records, and 3 partitions are recorded as in use; `espalier log adopt-partitions`',
    );
    expect((await open('report')).faults.map(({ kind }) => kind)).toEqual(['not-adopted']);
    const runner = await runProjections({ log, database: world.database });
    await expect(runner.finished).rejects.toThrow('partition 4 of topic trees holds records, and 3 partitions');
    await runner.close();
    const adopting = (await open('adopt')).log;
    const folding = await runProjections({ log: adopting, database: world.database });
    await adoptPartitions({ log: adopting, database: world.database }, { limitMs: 20_000, signal });
    await folding.close();
    expect(await partitionOf((await open()).log, moved)).toBe(4);
  });

  test('records that were deleted, an end below a cursor and a topic that is gone are refused at once, and not made again', async () => {
    const { log } = await open();
    await log.append(await prepareEvents(builder.events, new MemoryBlobs(), DEFAULT_STAMP));
    await fold(log);
    const { pool } = world.database;
    const rows = await pool.query(
      'select * from log_records where "offset" = 0 and partition_id in (select partition_id from log_partitions join log_topics using (topic_id) where topic = \'trees\')',
    );
    await pool.query('delete from log_records where "offset" = 0 and partition_id = any($1)', [
      rows.rows.map((row) => row.partition_id),
    ]);
    await expect(open()).rejects.toThrow(
      /^the log is not as it was recorded: trees\.0 no longer holds the records from 0 to 1 \(and 2 more/,
    );
    await expect(open('adopt')).rejects.toThrow(/trees\.0 no longer holds/);
    expect((await open('report')).faults).toHaveLength(1);
    for (const row of rows.rows)
      await pool.query('insert into log_rows (partition_id, "offset", key, value) values ($1, $2, $3, $4)', [
        row.partition_id,
        row.offset,
        row.key,
        row.value,
      ]);
    await open();
    await pool.query(
      "update log_partitions set next_offset = next_offset - 1 where topic_id = (select topic_id from log_topics where topic = 'runs') and next_offset > 0",
    );
    await expect(open()).rejects.toThrow(/runs\.\d ends at 0, and was folded up to 1/);
    await pool.query("update log_topics set topic = 'elsewhere' where topic = 'datasets'");
    await expect(open()).rejects.toThrow(/topic datasets is gone/);
    expect((await pool.query("select from log_topics where topic = 'datasets'")).rowCount).toBe(0);
  });

  test('a partition that holds its first record hours after the others is no log that was made again; one whose records were replaced is', async () => {
    const { pool } = world.database;
    const [early = ''] = streams;
    const late = streams.find((stream) => partitionForKey(stream, PARTITIONS) !== partitionForKey(early, PARTITIONS)) ?? '';
    const first = await partitionOf((await open()).log, early);
    const { log } = await open(); // which notes what holds records
    await pool.query("update log_partitions_seen set seen_at = seen_at - interval '2 hours'");
    await pool.query("update log_rows set received_at = received_at - interval '2 hours'");
    expect(await partitionOf(log, late)).not.toBe(first);
    expect((await open()).faults).toEqual([]);
    await pool.query("update log_partitions_seen set seen_at = seen_at - interval '2 hours'");
    await pool.query("update log_rows set received_at = now() + interval '1 minute'");
    await expect(open()).rejects.toThrow(/every record of trees\.\d is younger than the ones that were folded from it/);
  });

  test('a log that held records before its partitions were recorded keeps every stream where it lies', async () => {
    const events = await prepareEvents(builder.events, new MemoryBlobs(), DEFAULT_STAMP);
    await world.log.append(events);
    await grow(5);
    const { log } = await open(); // the first start of this version: the partitions were added before it
    await fold(log);
    for (const stream of streams) expect(await partitionOf(log, stream)).toBe(partitionForKey(stream, PARTITIONS));
  });
});
