import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { DEFAULT_STAMP } from '../../events/envelope.ts';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { verifyRecord } from '../../usecases/verify/verify-record.ts';
import { runProjections } from '../runner.ts';
import { waitUntilProjected } from '../wait-until.ts';

const signal = new AbortController().signal;
let platform: Platform & { readonly home: string };
let runner: Subscription;
let builder: EventBuilder;
beforeEach(async () => {
  platform = await openTestPlatform();
  runner = await runProjections({ log: platform.log, database: platform.database });
  builder = new EventBuilder('one body');
});
afterEach(async () => {
  await runner.close();
  await platform.close();
});

const query = async (statement: string) => (await platform.database.pool.query(statement)).rows;

/** Appends what was built since, and waits until it is folded. */
async function append(events: EventBuilder['events']): Promise<void> {
  await platform.log.append(await prepareEvents(events, platform.blobs, DEFAULT_STAMP));
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
}

function recordTree(name: string): EventBuilder['events'] {
  const from = builder.events.length;
  builder.walk(builder.tree(builder.run(name), 'a'), 0, 3, 1);
  return builder.events.slice(from);
}

/** The records of the log next to what everyone reads of them, and to what the journal itself keeps. */
const bodies = (schema = 'journal_v1') =>
  query(`
    select convert_from(r.value, 'UTF8') as appended, e.body as read, k.body as kept
    from events e join ${schema}.events k using (topic, partition, "offset")
    join log_topics t using (topic) join log_partitions p on p.topic_id = t.topic_id and p.partition = e.partition
    join log_records r on r.partition_id = p.partition_id and r."offset" = e."offset"`);

describe('the body of an event of the log in this database', () => {
  test('the journal keeps no second copy, and everyone reads the record of the log byte for byte', async () => {
    const events = recordTree('one');
    await append(events);
    const rows = await bodies();
    expect(rows).toHaveLength(events.length);
    for (const { appended, read, kept } of rows) expect([read, kept]).toEqual([appended, '']);
    expect((await verifyRecord(platform, { files: [], signal })).faults).toEqual([]);
  });

  test('a repetition and another fact under an id are distinguished by the record in the log', async () => {
    const events = recordTree('one');
    await append(events);
    const [first] = events;
    await append([first, { ...first, data: { ...first?.data, name: 'another' } }] as typeof events);
    expect(await query('select kind, event_id from anomalies')).toEqual([{ kind: 'duplicate', event_id: first?.id }]);
    expect(await query(`select projection, code, event_id from quarantine where projection = 'journal'`)).toEqual([
      { projection: 'journal', code: 'conflict', event_id: first?.id },
    ]);
  });

  test('a record that is gone from the log is named by verification', async () => {
    const events = recordTree('one');
    await append(events);
    const [, , lost] = events;
    await query(`delete from log_records where value like '%"id":"${lost?.id}"%'`);
    const { faults } = await verifyRecord(platform, { files: [], signal, log: 'left out' });
    expect(faults.map(({ what, kind, place }) => [what, kind, place])).toContainEqual([
      'event',
      'changed',
      expect.stringContaining(`event ${lost?.id}`),
    ]);
  });
});

test('a record that is damaged so that it is no text is named by verification', async () => {
  const events = recordTree('one');
  await append(events);
  const [, , hurt] = events;
  await query(`update log_records set value = value || '\\xff' where value like '%"id":"${hurt?.id}"%'`);
  const { faults } = await verifyRecord(platform, { files: [], signal, log: 'left out' });
  expect(faults.map(({ what, kind, place }) => [what, kind, place])).toContainEqual([
    'event',
    'changed',
    expect.stringContaining(`event ${hurt?.id}`),
  ]);
});

test('where the read models are of another log, a log in this database is not asked', async () => {
  await sql`update log_identity set identity = 'a cluster'`.execute(platform.database.db);
  await append(recordTree('one'));
  for (const { appended, kept } of await bodies()) expect(kept).toBe(appended);
});
