import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { prepareEvents } from '../append/prepare-events.ts';
import { TOPICS } from '../events/catalogue.ts';
import { DEFAULT_STAMP } from '../events/envelope.ts';
import { openEmbeddedLog } from '../log/embedded-log.ts';
import type { EventLog, LogRecord } from '../log/event-log.ts';
import { partitionForKey } from '../log/partition-for-key.ts';
import { runProjections } from '../projections/runner.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { MemoryBlobs } from '../testing/memory-blobs.ts';
import { openTestWorld, type TestWorld } from '../testing/open-test-log.ts';
import { type OnLogFaults, openRecordedLog } from './open-recorded-log.ts';

const PARTITIONS = 3;
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
async function open(onFaults: OnLogFaults = 'refuse') {
  const bare = await openEmbeddedLog({ url: world.url });
  opened.push(bare);
  const recordedLog = await openRecordedLog(bare, world.database.db, { topics: TOPICS, partitions: PARTITIONS, onFaults });
  opened.push(recordedLog.log);
  return recordedLog;
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
const recordOf = (key: string, topic = 'trees'): LogRecord => ({ topic, key, value: Buffer.from('{}') });
const partitionOf = async (log: EventLog, key: string) => (await log.append([recordOf(key)]))[0]?.partition;

describe('a log by its recorded partitions', () => {
  test('a topic with another number of partitions is refused with the remedy, and a process that runs moves no stream', async () => {
    const { log } = await open();
    for (const stream of streams) await partitionOf(log, stream);
    await grow(5);
    expect(streams.filter((stream) => partitionForKey(stream, PARTITIONS) !== partitionForKey(stream, 5))).not.toEqual([]);
    for (const stream of streams) expect(await partitionOf(log, stream)).toBe(partitionForKey(stream, PARTITIONS));
    await expect(open()).rejects.toThrow(
      /topic datasets has 5 partitions, and 3 are recorded.*restore the topics.*`espalier import`/s,
    );
    const { log: readable, faults } = await open('report');
    expect(faults.map(({ kind }) => kind)).toEqual(TOPICS.map(() => 'other-partitions'));
    await expect(readable.append([recordOf('a')])).rejects.toThrow(/3 are recorded/);
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
    const options = { topics: TOPICS, partitions: PARTITIONS, onFaults: 'report' } as const;
    const opening = await openRecordedLog(busy, world.database.db, options);
    opened.push(opening.log);
    expect(opening.faults).toEqual([]);
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
    expect((await open('report')).faults).toHaveLength(1);
    for (const row of rows.rows)
      await pool.query('insert into log_records values ($1, $2, $3, $4, $5)', [
        row.partition_id,
        row.offset,
        row.key,
        row.value,
        row.received_at,
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
});
