import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { encode } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Offsets } from '../../log/event-log.ts';
import { type Database, type Db, openDatabase } from '../../postgres/database.ts';
import { applySlice } from '../../projections/apply-slices.ts';
import { tablesOf } from '../../projections/as-of/as-of-testing.ts';
import { keepSnapshots } from '../../projections/as-of/snapshots.ts';
import { topicsOf } from '../../projections/concerns.ts';
import { decodeRecords } from '../../projections/decode-records.ts';
import { readTail } from '../../projections/journal/read-events.ts';
import { projections } from '../../projections/registry.ts';
import { foldRewardsAt } from '../../projections/rewards/rewards-at.ts';
import { arbitraryRecord } from '../../testing/arbitrary-record.ts';
import { createTestDatabase, type TestDatabase } from '../../testing/database.ts';
import { appendRequeue, appendTo, projectSlice, type TestLog, testLog } from '../../testing/given-events.ts';
import { emptyReadModels, readModels } from '../../testing/read-models.ts';

const databases: { readonly made: TestDatabase; readonly database: Database }[] = [];
// opened before the first test
let [live, atOnce, subscriber]: readonly [Db, Db, Db] = [undefined, undefined, undefined] as never;
beforeAll(async () => {
  for (let i = 0; i < 3; i++) {
    const made = await createTestDatabase();
    databases.push({ made, database: await openDatabase(made.url) });
  }
  [live, atOnce, subscriber] = databases.map(({ database }) => database.db) as unknown as [Db, Db, Db]; // three were opened
});
afterAll(async () => {
  for (const { made, database } of databases) {
    await database.close();
    await made.drop();
  }
});

/**
 * How a record comes to be: its events, which of them come early, which no program could read then, where batches end and what is
 * requeued behind each.
 */
const happening = fc.record({
  events: arbitraryRecord,
  moved: fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 6 }),
  unread: fc.array(fc.nat(), { maxLength: 2 }),
  cuts: fc.array(fc.record({ at: fc.nat(), requeuing: fc.array(fc.boolean(), { maxLength: 8 }) }), {
    minLength: 1,
    maxLength: 4,
  }),
  asked: fc.nat(),
});
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

/**
 * Lets it happen: batch by batch into the log and, live, into the read models; behind each batch some of what waits is requeued.
 */
async function letHappen({ events, moved, unread, cuts }: Happening): Promise<TestLog> {
  const record = [...events];
  for (const [at, to] of moved) record.splice(to % record.length, 0, ...record.splice(at % record.length, 1));
  const newer = new Set(unread.map((at) => at % record.length));
  const log = testLog();
  const ends = [
    ...cuts.map(({ at, requeuing }) => ({ end: at % (record.length + 1), requeuing })),
    { end: record.length, requeuing: [] },
  ];
  let from = 0;
  for (const { end, requeuing } of ends.sort((a, b) => a.end - b.end)) {
    appendTo(
      log,
      record.slice(from, end).map((event, i) => (newer.has(from + i) ? beyond(event) : event)),
    );
    from = end;
    await fold(live, log);
    await requeue(log, requeuing, events);
    await fold(live, log);
  }
  return log;
}

/** The record of an event in a version that this program does not know. */
function beyond(event: Envelope): { topic: string; value: Uint8Array } {
  const log = testLog();
  appendTo(log, [event]);
  const [topic = ''] = log.topics.keys();
  return { topic, value: Buffer.from(JSON.stringify({ ...event, schemaVersion: 99 })) };
}

/**
 * Requeues those of the waiting places that the mask chooses; what could not be read is requeued as a program reads it that can.
 */
async function requeue(log: TestLog, mask: readonly boolean[], events: readonly Envelope[]): Promise<void> {
  const { rows } = await sql<{ topic: string; offset: number; body: Buffer }>`
    select distinct on (topic, "offset") topic, "offset", body from quarantine where requeued_at is null order by topic, "offset"`.execute(
    live,
  );
  for (const [i, { topic, offset, body }] of rows.entries()) {
    if (!mask[i % Math.max(1, mask.length)]) continue;
    const { id } = JSON.parse(body.toString()) as { id: string };
    const event = events.find((each) => each.id === id);
    if (event) appendRequeue(log, topic, offset, encode(event));
  }
}

async function fold(db: Db, log: TestLog, position: Offsets = endsOf(log)): Promise<void> {
  for (const [topic, partitions] of position) await projectSlice(db, log, topic, 0, partitions.get(0) ?? 0);
}

function endsOf(log: TestLog): Offsets {
  return new Map([...log.topics].map(([topic, records]) => [topic, new Map([[0, records.length]])]));
}

/** A position within the record, another in each topic. */
function someWhere(log: TestLog, asked: number): Offsets {
  return new Map([...log.topics].map(([topic, records], i) => [topic, new Map([[0, (asked >> i) % (records.length + 1)]])]));
}

async function quarantineOf(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ row: string }>`
    select (to_jsonb(q) - '{quarantined_at}'::text[])::text as row from quarantine q order by 1`.execute(db);
  return rows.map(({ row }) => row);
}

const rewardsOf = async (db: Db) =>
  (await db.selectFrom('rewards').select(['rewardId', 'value', 'revisions']).orderBy('rewardId').execute()).map(
    ({ rewardId, value, revisions }) => [rewardId, value, revisions],
  );

/** Follows the events of a record as a subscriber does, and folds what is delivered, in its order. */
async function foldDelivered(into: Db): Promise<void> {
  const delivered = new Map<string, { offset: number; body: string }[]>();
  let from: Offsets = new Map();
  for (;;) {
    const { records, ends } = await readTail(live, from, {}, 5);
    const next = new Map([...ends].map(([topic]) => [topic, new Map(from.get(topic) ?? [])]));
    for (const { topic, offset, body } of records) {
      delivered.set(topic, [...(delivered.get(topic) ?? []), { offset, body }]);
      next.get(topic)?.set(0, offset + 1);
    }
    if (records.length === 0) break;
    from = next;
  }
  for (const [topic, records] of delivered) {
    expect(records.map(({ offset }) => offset)).toEqual(records.map(({ offset }) => offset).sort((a, b) => a - b));
    const batch = { topic, partition: 0, from: 0, next: (records.at(-1)?.offset ?? 0) + 1 };
    const items = await decodeRecords(live, {
      ...batch,
      records: records.map(({ offset, body }) => ({ offset, receivedAt: null, key: '', value: Buffer.from(body) })),
    });
    for (const projection of projections)
      if (topicsOf(projection).includes(topic))
        await applySlice(databases[2]?.database.db as Db, projection, { ...batch, items });
  }
  expect(into).toBe(databases[2]?.database.db);
}

/** What follows from the events alone, not from how often or where one of them lies in the log. */
const OF_EVENTS = [
  'trees',
  'steps',
  'rollouts',
  'rewards',
  'reward_revisions',
  'returns',
  'runs',
  'metrics',
  'node_statistics',
  'tool_calls',
];

test('live, rebuild, as-of, rewards-at and subscriber agree, whatever came early or unreadable and whenever it was requeued', async () => {
  const seen = { requeued: 0, unread: 0, waiting: 0 };
  await fc.assert(
    fc.asyncProperty(happening, async (drawn) => {
      for (const db of [live, atOnce, subscriber]) await emptyReadModels(db);
      const log = await letHappen(drawn);
      const { rows } = await sql<{ code: string; requeued: boolean }>`
        select code, requeued_at is not null as requeued from quarantine`.execute(live);
      seen.requeued += rows.filter(({ requeued }) => requeued).length;
      seen.unread += rows.filter(({ requeued, code }) => requeued && code === 'unknown-version').length;
      seen.waiting += rows.filter(({ requeued }) => !requeued).length;

      await fold(atOnce, log); // all of it at once
      expect(await readModels(atOnce)).toEqual(await readModels(live));
      expect(await quarantineOf(atOnce)).toEqual(await quarantineOf(live));

      await foldDelivered(subscriber);
      const [followed, liveModels] = [await readModels(subscriber), await readModels(live)];
      for (const table of OF_EVENTS) expect([table, followed[table]]).toEqual([table, liveModels[table]]);

      const position = someWhere(log, drawn.asked);
      await emptyReadModels(atOnce);
      await fold(atOnce, log, position);
      const snapshots = keepSnapshots(databases[0]?.database as Database, databases[0]?.made.url ?? '', { records: 10_000 });
      try {
        const snapshot = await snapshots.at({ kind: 'position', position }, 'all', new AbortController().signal);
        const tables = Object.keys(await readModels(atOnce));
        expect(await tablesOf(snapshot.db, tables)).toEqual(await tablesOf(atOnce, tables));
        snapshot.release();
      } finally {
        await snapshots.close();
      }
      const trees = (await live
        .selectFrom('rewardTrees' as never)
        .select('treeId' as never)
        .execute()) as { treeId: string }[];
      const at = await foldRewardsAt(
        live,
        trees.map(({ treeId }) => treeId),
        position,
      );
      const asFolded = at.map(({ assigned, value, revisions }) => [assigned.rewardId, value, revisions]);
      expect(asFolded.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))).toEqual(await rewardsOf(atOnce));
    }),
    { numRuns: 8, endOnFailure: true },
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
