import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Envelope } from '../events/envelope.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { appendTo, givenEvents, projectSlice, settingBack, testLog } from '../testing/given-events.ts';
import { emptyReadModels, readModels } from '../testing/read-models.ts';
import { choices, lates, recordBushyRun, recordedLate } from '../testing/record-bushy-run.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';

const database = useTestDatabase({ emptied: 'before-each' });

/** Lengths of batches, over and over, and how far back each begins. */
const cuts = fc.array(fc.tuple(fc.integer({ min: 5, max: 40 }), fc.nat(9)), { minLength: 1, maxLength: 9 });

async function projectAtOnce(events: readonly Envelope[]): Promise<void> {
  const log = testLog();
  appendTo(log, events, settingBack);
  for (const [topic, records] of log.topics) await projectSlice(database.db, log, topic, 0, records.length);
}

async function quarantined() {
  const places = database.db.selectFrom('quarantine').select(['projection', 'topic', 'offset', 'code', 'field']);
  return places.orderBy('projection').orderBy('topic').orderBy('offset').execute();
}

describe('read models', () => {
  test('any batches and any redelivery lead to the same rows', async () => {
    await fc.assert(
      fc.asyncProperty(choices, lates, cuts, async (recorded, late, cut) => {
        const events = recordedLate(recordBushyRun(recorded).events, late);
        await emptyReadModels(database.db);
        await projectAtOnce(events);
        const atOnce = { ...(await readModels(database.db)), quarantine: await quarantined() };

        await emptyReadModels(database.db);
        const log = testLog();
        appendTo(log, events, settingBack);
        for (const [topic, records] of log.topics) {
          let next = 0;
          for (let i = 0; next < records.length; i++) {
            const [length, back] = cut[i % cut.length]!; // there is one
            const to = Math.min(records.length, next + length);
            await projectSlice(database.db, log, topic, Math.max(0, next - back), to);
            next = Math.max(next, to);
          }
          await projectSlice(database.db, log, topic, 0, records.length);
        }
        expect({ ...(await readModels(database.db)), quarantine: await quarantined() }).toEqual(atOnce);
      }),
      { numRuns: 2 },
    );
  });

  test('a tree whose root is a step of another tree leads to the same rows in any batches', async () => {
    const builder = new EventBuilder('root elsewhere');
    const run = builder.run();
    const { treeId, rootStepId } = builder.tree(run, 'first');
    const step = builder.step({ treeId, runId: run }, null, rootStepId, 1);
    const other = builder.tree(run, 'other', { rootStepId: step });
    builder.step(other, null, step, 1);
    const folded: unknown[] = [];
    for (const length of [1, 2, 3, builder.events.length]) {
      await emptyReadModels(database.db);
      for (let at = 0; at < builder.events.length; at += length)
        await givenEvents(database.db, builder.events.slice(at, at + length));
      folded.push({ ...(await readModels(database.db)), quarantine: await quarantined() });
    }
    for (const each of folded) expect(each).toEqual(folded[0]);
  });

  test('repeated events change nothing except the note of the repetition', async () => {
    await fc.assert(
      fc.asyncProperty(choices, fc.array(fc.nat(100), { minLength: 1, maxLength: 20 }), async (recorded, again) => {
        const { events } = recordBushyRun(recorded);
        await emptyReadModels(database.db);
        await projectAtOnce(events);
        const places = ['offset', 'log_offset', 'received_at'];
        const { anomalies: noted = [], ...once } = await readModels(database.db, places);

        await emptyReadModels(database.db);
        const repeated = again.map((i) => events[i % events.length]!); // events are never empty
        await projectAtOnce([...events, ...repeated]);
        const { anomalies = [], ...twice } = await readModels(database.db, places);
        expect(twice).toEqual(once);
        // what contradicts an earlier record is quarantined, and again when it is repeated
        const kept = new Set((await database.db.selectFrom('events').select('eventId').execute()).map(({ eventId }) => eventId));
        const notable = repeated.filter(({ type, id }) => type !== 'SegmentRendered' && kept.has(id));
        expect(anomalies).toHaveLength(noted.length + notable.length);
      }),
      { numRuns: 2 },
    );
  });

  test('the interleaving of streams does not change the rows', async () => {
    await fc.assert(
      fc.asyncProperty(choices, fc.infiniteStream(fc.boolean()), async (recorded, coins) => {
        const { events } = recordBushyRun(recorded);
        await emptyReadModels(database.db);
        await projectAtOnce(events);
        const places = ['offset', 'log_offset', 'received_at'];
        const recordedOrder = await readModels(database.db, places);

        const queues = [...new Set(events.map((e) => e.stream))].map((stream) => events.filter((e) => e.stream === stream));
        const mixed: Envelope[] = [];
        while (queues.some((q) => q.length > 0))
          for (const queue of queues) if (queue.length > 0 && coins.next().value) mixed.push(queue.shift()!); // not empty
        await emptyReadModels(database.db);
        await projectAtOnce(mixed);
        expect(await readModels(database.db, places)).toEqual(recordedOrder);
      }),
      { numRuns: 2 },
    );
  });
});

describe('returns', () => {
  test('a return sums the rewards from the root to the leaf and those of the rollout, and follows revisions', async () => {
    const builder = new EventBuilder('returns');
    const runId = builder.run();
    const tree = builder.tree(runId);
    const first = builder.rollout(tree, 0);
    const shared = builder.step(tree, first, tree.rootStepId, 1);
    const sharedReward = builder.reward(tree, shared, 0.25);
    const leaf = builder.step(tree, first, shared, 2);
    builder.reward(tree, leaf, 1);
    builder.reward(tree, null, -0.5, { rolloutId: first });
    builder.finishRollout(tree, first, leaf);
    const second = builder.rollout(tree, 1, { fromStepId: shared });
    const other = builder.step(tree, second, shared, 2);
    builder.finishRollout(tree, second, other);
    await givenEvents(database.db, builder.events);
    expect(await returns()).toEqual({ [first]: 0.75, [second]: 0.25 });

    const revision = new EventBuilder('revision');
    revision.record(
      'RewardRevised',
      { rewardId: sharedReward, treeId: tree.treeId, value: 2, scorer: { name: 'judge', revision: '2' }, reason: 'seen again' },
      runId,
    );
    await givenEvents(database.db, revision.events);
    expect(await returns()).toEqual({ [first]: 2.5, [second]: 2 });
    const [history] = await database.db
      .selectFrom('rewardRevisions')
      .select(['ordinal', 'value', 'scorer', 'scorerRevision', 'reason'])
      .execute();
    expect(history).toEqual({ ordinal: 1, value: 2, scorer: 'judge', scorerRevision: '2', reason: 'seen again' });
    const reward = await database.db
      .selectFrom('rewards')
      .select(['value', 'assignedValue', 'revisions'])
      .where('rewardId', '=', sharedReward)
      .execute();
    expect(reward).toEqual([{ value: 2, assignedValue: 0.25, revisions: 1 }]);
  });

  async function returns(): Promise<Record<string, number | null>> {
    const rows = await database.db.selectFrom('returns').select(['rolloutId', 'value']).execute();
    return Object.fromEntries(rows.map((row) => [row.rolloutId, row.value]));
  }
});

describe('the journal', () => {
  test('the journal notes a gap in the sequence of a producer, and a sequence that regressed', async () => {
    const builder = new EventBuilder('gaps');
    const runId = builder.run();
    for (let i = 0; i < 4; i++) builder.record('MetricRecorded', { runId, metric: 'loss', value: i, at: i }, runId);
    const [start, a, b, c, d] = builder.events;
    await givenEvents(database.db, [start!, a!, c!, b!, d!]); // five events were recorded
    const anomalies = await database.db.selectFrom('anomalies').select(['eventId', 'kind']).orderBy('offset').execute();
    expect(anomalies).toEqual([
      { eventId: c!.id, kind: 'gap' },
      { eventId: b!.id, kind: 'reordered' },
    ]);
  });

  test('the journal keeps the first event of an id and quarantines another fact under it', async () => {
    const builder = new EventBuilder('conflict');
    const runId = builder.run();
    const first = builder.record('MetricRecorded', { runId, metric: 'loss', value: 1, at: null }, runId);
    await givenEvents(database.db, [...builder.events, { ...first, data: { ...first.data, value: 2 } }]);
    const quarantined = await database.db.selectFrom('quarantine').select(['projection', 'eventId', 'code', 'field']).execute();
    expect(quarantined).toEqual([{ projection: 'journal', eventId: first.id, code: 'conflict', field: 'id' }]);
  });
});
