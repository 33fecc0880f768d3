import { beforeEach, describe, expect, test } from '@jest/globals';
import { type RawBuilder, sql } from 'kysely';
import { encode } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendRequeue, appendTo, projectSlice, type TestLog, testLog } from '../../testing/given-events.ts';
import { recordRenderSpec, recordSegment } from '../../testing/record-images.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { journal } from '../journal/journal.ts';
import { journalChain } from './journal-chain.ts';
import { verifyChain } from './verify-chain.ts';

const database = useTestDatabase({ emptied: 'before-each' });
let log: TestLog;
let builder: EventBuilder;
let ids: readonly string[]; // of the events of `trees`, by offset
beforeEach(async () => {
  log = testLog();
  builder = new EventBuilder('chained');
  const tree = builder.tree(builder.run(), 'a');
  const rolloutId = builder.rollout(tree);
  let from = tree.rootStepId;
  for (let depth = 1; depth <= 5; depth++) from = builder.step(tree, rolloutId, from, depth);
  ids = builder.events.slice(1).map(({ id }) => id);
  appendTo(log, builder.events);
  await fold();
});

/** Folds what the log holds behind `from`. */
async function fold(projections = [journal, journalChain], from: Readonly<Record<string, number>> = {}): Promise<void> {
  for (const [topic, records] of log.topics)
    await projectSlice(database.db, log, topic, from[topic] ?? 0, records.length, projections);
}

const run = (statement: RawBuilder<unknown>) => statement.execute(database.db);
const found = async () => {
  const { faulty, faults } = await verifyChain(database.db, { signal: new AbortController().signal });
  expect(faults).toHaveLength(faulty);
  return faults.map(({ kind, place, eventId, columns }) => [kind, place, eventId, ...columns]);
};

describe('the hash chain', () => {
  test('the chain is intact where the journal is ahead of it, and where it is ahead of the journal', async () => {
    builder.run('later');
    appendTo(log, builder.events.slice(-1));
    await fold([journal], { runs: 1, trees: 7 });
    expect(await found()).toEqual([]);
    await fold([journalChain], { runs: 1, trees: 7 });
    await run(sql`update cursors set next_offset = 1 where projection = 'journal' and topic = 'runs'`);
    await run(sql`delete from journal_v1.events where topic = 'runs' and "offset" = 1`);
    expect(await found()).toEqual([]);
  });

  test('the chain is intact where the journal explains a missing record: a repetition, a shared segment, or another fact under the id', async () => {
    const [first] = builder.events;
    if (!first) throw new Error('the builder is empty');
    const spec = recordRenderSpec(builder, builder.id('run', 'run'));
    recordSegment(builder, builder.id('run', 'run'), spec, 'a line');
    const recorded = builder.events.slice(-2);
    const conflict = { ...first, data: { ...first.data, name: 'another' } } as typeof first;
    appendTo(log, [first, conflict, ...recorded, ...recorded.slice(-1)]);
    await fold(undefined, { runs: 1, trees: 7 });
    expect(await found()).toEqual([]);
    await run(sql`update quarantine set body = convert_to(replace(convert_from(body, 'UTF8'), 'another', 'an other'), 'UTF8')`);
    expect(await found()).toEqual([['changed', 'runs.0@2', first.id]]);
    await run(sql`delete from quarantine`);
    await run(sql`delete from journal_v1.anomalies where kind = 'duplicate'`);
    expect(await found()).toEqual([
      ['missing', 'runs.0@1', first.id],
      ['missing', 'runs.0@2', first.id],
    ]);
  });

  test('the chain contains a requeue at its place, of an event that the journal could not read and of one that it holds', async () => {
    // the run's start, once more under an id of its own
    const unread = { ...builder.events[0], id: builder.id('unread'), sequence: 1 };
    appendTo(log, [{ topic: 'runs', value: Buffer.from(JSON.stringify({ ...unread, schemaVersion: 99 })) }]);
    builder.run('later');
    appendTo(log, builder.events.slice(-1));
    await fold(undefined, { runs: 1, trees: 7 });
    expect(await found()).toEqual([]);
    const at = appendRequeue(log, 'runs', 1, encode(unread as Envelope)); // as a program reads it that knows its version
    appendRequeue(log, 'trees', 3);
    await fold(undefined, { runs: at, trees: 7 });
    expect(await found()).toEqual([]);
    await run(sql`update journal_v1.events set body = replace(body, '"seed":1', '"seed":2') where event_id = ${unread.id}`);
    await run(sql`delete from journal_v1.requeued_records where topic = 'trees'`);
    expect(await found()).toEqual([
      ['changed', `runs.0@${at}`, unread.id],
      ['missing', 'trees.0@7', ids[3]],
    ]);
  });

  test.each([
    ['behind the end', 0, 1_000_000],
    ['before the beginning', 0, -3],
    ['to a partition that there is not', 9, 3],
  ])('verification names an event that was moved %s, and its present place', async (_, partition, offset) => {
    await run(
      sql`update journal_v1.events set partition = ${partition}, "offset" = ${offset} where topic = 'trees' and "offset" = 3`,
    );
    const faults = await found();
    expect(faults).toContainEqual(['missing', 'trees.0@3', ids[3]]);
    expect(faults).toContainEqual(['inserted', `trees.${partition}@${offset}`, ids[3]]);
  });

  test.each([
    ['behind the end', 2_000_000],
    ['before the beginning', -1],
  ])('verification names a copy under a new id %s', async (_, offset) => {
    const copy = builder.id('copy');
    await run(sql`
      insert into journal_v1.events select topic, partition, ${offset}, ${copy}::uuid, type, stream, entity_id, 8, sequence, producer, correlation_id,
        occurred_at, body
      from journal_v1.events where topic = 'trees' and "offset" = 6`);
    expect(await found()).toContainEqual(['inserted', `trees.0@${offset}`, copy]);
  });

  test.each([
    ['type', sql`type = 'Nothing'`],
    ['stream', sql`stream = ${'0f000000-0000-4000-8000-000000000000'}::uuid, position = 1`],
    ['entity_id', sql`entity_id = ${'0f000000-0000-4000-8000-000000000000'}::uuid`],
    ['sequence', sql`sequence = sequence + 1`],
    ['producer', sql`producer = 'x'`],
    ['correlation_id', sql`correlation_id = event_id`],
    ['occurred_at', sql`occurred_at = occurred_at + interval '1 microsecond'`],
  ])('verification names the column %s that contradicts the body', async (column, change) => {
    // the last of its stream: no hole behind it
    await run(sql`update journal_v1.events set ${change} where topic = 'trees' and "offset" = 6`);
    expect(await found()).toEqual([['changed', 'trees.0@6', ids[6], column]]);
  });

  test('verification names a position after a gap, one below the first, and two that were exchanged', async () => {
    const move = (offset: number, position: number) =>
      run(sql`update journal_v1.events set position = ${position} where topic = 'trees' and "offset" = ${offset}`);
    await move(6, 1_000);
    expect(await found()).toEqual([['changed', 'trees.0@6', ids[6], 'position']]);
    await move(6, 0);
    expect(await found()).toContainEqual(['changed', 'trees.0@6', ids[6], 'position']);
    await move(5, 7);
    await move(6, 6);
    expect(await found()).toEqual([['changed', 'trees.0@5', ids[5], 'position']]);
  });

  test('verification reads as far as the entries reach where the cursor is missing', async () => {
    await run(sql`delete from cursors where projection = 'journal-chain'`);
    expect(await found()).toEqual([]);
    await run(sql`update journal_v1.events set body = replace(body, 'step 2', 'step 3') where topic = 'trees' and "offset" = 3`);
    expect(await found()).toEqual([['changed', 'trees.0@3', ids[3]]]);
  });
});
