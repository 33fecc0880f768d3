import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Envelope } from '../../events/envelope.ts';
import type { Offsets } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';
import { arbitraryRecord } from '../../testing/arbitrary-record.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { everyEvent } from '../../testing/every-event.ts';
import { appendTo, requeueWaiting, type TestLog, testLog } from '../../testing/given-events.ts';
import { emptyReadModels, readModels } from '../../testing/read-models.ts';
import { stepTree } from '../step-tree/step-tree.ts';
import { ENTITIES, ends, NEVER, projectUpTo, tablesOf, useAsOf } from './as-of-testing.ts';
import { keepSnapshots } from './snapshots.ts';

const asOf = useAsOf();

/** The position after the first events of a record, as they were appended. */
function after(events: readonly Envelope[]): Offsets {
  const log = testLog();
  appendTo(log, events);
  return ends(log);
}

async function expectFoldOf(log: TestLog, position: Offsets): Promise<void> {
  await emptyReadModels(asOf.scratch.db);
  await projectUpTo(asOf.scratch.db, log, position);
  const names = Object.keys(await readModels(asOf.scratch.db));
  // None is kept from one record to the next: both may have the same positions.
  const fresh = keepSnapshots(asOf.live, asOf.url, { records: 10_000 });
  try {
    const snapshot = await fresh.at({ kind: 'position', position }, 'all', NEVER);
    expect(await tablesOf(snapshot.db, names)).toEqual(await tablesOf(asOf.scratch.db, names));
    snapshot.release();
  } finally {
    await fresh.close();
  }
}

/** A record as producers leave it: some events come twice, some before what they depend on, some under an id that is taken. */
const disturbedRecord = fc
  .tuple(arbitraryRecord, fc.array(fc.tuple(fc.nat(), fc.nat(), fc.constantFrom('again', 'early', 'taken')), { maxLength: 6 }))
  .map(([events, disturbances]) => {
    const record = [...events];
    for (const [i, j, kind] of disturbances) {
      const at = i % record.length;
      const event = record[at];
      if (!event) continue;
      if (kind === 'again') record.splice(j % (record.length + 1), 0, event);
      if (kind === 'early') record.splice(j % record.length, 0, ...record.splice(at, 1));
      if (kind === 'taken') record.splice(at + 1, 0, { ...event, data: { ...event.data, reason: `other ${j}` } } as Envelope);
    }
    return record;
  });

describe('read models as of a position', () => {
  test('the read models as of a position are the fold of the first events, whatever was recorded and however much follows', async () => {
    await fc.assert(
      fc.asyncProperty(disturbedRecord, fc.array(fc.nat(), { minLength: 1, maxLength: 2 }), async (events, cuts) => {
        await emptyReadModels(asOf.live.db);
        const log = testLog();
        appendTo(log, events);
        await projectUpTo(asOf.live.db, log, ends(log));
        for (const cut of cuts) await expectFoldOf(log, after(events.slice(0, cut % (events.length + 1))));
      }),
      { numRuns: 2 },
    );
  });

  test('the read models as of any offsets are the fold of the events below them, for every type of event', async () => {
    const log = testLog();
    appendTo(log, everyEvent());
    await projectUpTo(asOf.live.db, log, ends(log));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(), { minLength: 5, maxLength: 5 }), async (cuts) => {
        const topics = [...log.topics];
        await expectFoldOf(
          log,
          new Map(topics.map(([topic, records], i) => [topic, new Map([[0, (cuts[i] ?? 0) % (records.length + 1)]])])),
        );
      }),
      { numRuns: 2 },
    );
  });

  test('a requeued event is included from the place of its requeue on, also where an earlier snapshot was kept', async () => {
    const { log, later } = await givenRequeued();
    appendTo(log, later);
    const before = ends(log);
    await projectUpTo(asOf.live.db, log, before);
    const depths = async (position: Offsets) => {
      const snapshot = await asOf.snapshots.at({ kind: 'position', position }, 'all', NEVER);
      const rows = await snapshot.db.selectFrom('steps').select('depth').orderBy('depth').execute();
      snapshot.release();
      return rows.map(({ depth }) => depth);
    };
    expect(await depths(before)).toEqual([0, 1]); // what hangs on the waiting step waits with it
    await requeueWaiting(asOf.live.db, { log });
    await projectUpTo(asOf.live.db, log, ends(log));
    expect(await depths(before)).toEqual([0, 1]);
    expect(await depths(ends(log))).toEqual([0, 1, 2, 3]);
    const fresh = keepSnapshots(asOf.live, asOf.url, { records: 10_000 });
    const again = await fresh.at({ kind: 'position', position: before }, 'all', NEVER);
    expect(await again.db.selectFrom('steps').select('depth').execute()).toHaveLength(2);
    again.release();
    await fresh.close();
  });

  test('a requeued event is included from the time of its requeue on, although it occurred earlier', async () => {
    const { log } = await givenRequeued();
    await requeueWaiting(asOf.live.db, { log });
    const { rows } = await sql<{ at: Date }>`select min(requeued_at) as at from requeued_records`.execute(asOf.live.db);
    const requeued = rows[0]?.at.getTime() ?? Number.NaN;
    const steps = async (time: number) => {
      const snapshot = await asOf.snapshots.at({ kind: 'time', time: new Date(time) }, 'all', NEVER);
      const { length } = await snapshot.db.selectFrom('steps').select('stepId').execute();
      snapshot.release();
      return length;
    };
    expect([await steps(requeued - 1), await steps(requeued)]).toEqual([2, 3]);
  });
});

test('a step that is appended again, measured anew, after its first record was refused has no effect live nor as of a moment', async () => {
  const recorded = new EventBuilder('again');
  const tree = recorded.tree(recorded.run(), 'a');
  const rollout = recorded.rollout(tree);
  const first = recorded.step(tree, rollout, tree.rootStepId, 1);
  recorded.step(tree, rollout, first, 2);
  const [run, opened, started, parent, child] = recorded.events as [
    Envelope,
    Envelope,
    Envelope,
    Envelope,
    Envelope<'StepTaken'>,
  ];
  const again: Envelope = { ...child, data: { ...child.data, timings: { policyMs: 777, environmentMs: 888 } } };
  const log = testLog();
  for (const event of [run, opened, started, child, parent, again]) {
    appendTo(log, [event]);
    await projectUpTo(asOf.live.db, log, ends(log));
  }
  const names = Object.keys(await readModels(asOf.live.db));
  const snapshot = await asOf.snapshots.at({ kind: 'position', position: ends(log) }, 'all', NEVER);
  expect(await tablesOf(snapshot.db, names)).toEqual(await tablesOf(asOf.live.db, names));
  snapshot.release();
  await requeueWaiting(asOf.live.db, { log, projections: [stepTree] });
  const depth2 = await asOf.live.db.selectFrom('steps').select('policyMs').where('depth', '=', 2).execute();
  expect(depth2).toEqual([{ policyMs: 1 }]); // the first record is the fact, which its requeue brings into effect
});

/** A step before its parent, which is there by now, and events that hang on it. */
async function givenRequeued() {
  const recorded = new EventBuilder('hanging');
  const tree = recorded.tree(recorded.run(), 'a');
  const rollout = recorded.rollout(tree);
  const first = recorded.step(tree, rollout, tree.rootStepId, 1);
  const second = recorded.step(tree, rollout, first, 2);
  const third = recorded.step(tree, rollout, second, 3);
  recorded.finishRollout(tree, rollout, third, { steps: 3 });
  const [run, opened, started, parent, early, ...later] = recorded.events as [Envelope, Envelope, Envelope, Envelope, Envelope];
  const log = testLog();
  appendTo(log, [run, opened, started, early, parent]);
  await projectUpTo(asOf.live.db, log, ends(log));
  return { log, later, opened, tree };
}

describe('events that depend on a requeued event', () => {
  const names = ['steps', 'rollouts', 'rewards', 'reward_edges', 'returns', 'quarantine'];
  const waiting = async (db: Db) => {
    const ofTree = db.selectFrom('quarantine').select('offset').where('projection', '=', 'step-tree');
    return (await ofTree.where('requeuedAt', 'is', null).orderBy('offset').execute()).map(({ offset }) => offset);
  };

  test.each(['all', 'the tree'] as const)('a dependent event is folded with it and waits in no quarantine: %s', async (scope) => {
    const { log, later, tree } = await givenRequeued();
    await requeueWaiting(asOf.live.db, { log });
    appendTo(log, later);
    await projectUpTo(asOf.live.db, log, ends(log));
    const of = scope === 'all' ? scope : { ...ENTITIES, trees: [tree.treeId] };
    const snapshot = await asOf.snapshots.at({ kind: 'position', position: ends(log) }, of, NEVER);
    expect(await snapshot.db.selectFrom('steps').select('stepId').execute()).toHaveLength(4);
    expect(await tablesOf(snapshot.db, names)).toEqual(await tablesOf(asOf.live.db, names));
    snapshot.release();
  });

  test('a dependent event waits where the live fold still quarantines it', async () => {
    const { log, later, opened } = await givenRequeued();
    appendTo(log, [...later, opened]); // once more: another position, so that no snapshot of it is kept
    await projectUpTo(asOf.live.db, log, ends(log)); // nothing was requeued
    const snapshot = await asOf.snapshots.at({ kind: 'position', position: ends(log) }, 'all', NEVER);
    expect(await waiting(snapshot.db)).toEqual([2, 4, 5]);
    expect(await tablesOf(snapshot.db, names)).toEqual(await tablesOf(asOf.live.db, names));
    snapshot.release();
  });
});
