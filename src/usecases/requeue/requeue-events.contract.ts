import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { catalogue, TOPICS } from '../../events/catalogue.ts';
import { encode } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { EventLog, Subscription } from '../../log/event-log.ts';
import type { Database } from '../../postgres/database.ts';
import { verifyChain } from '../../projections/journal-chain/verify-chain.ts';
import { describePlace, type LogPlace } from '../../projections/place.ts';
import type { Projection } from '../../projections/projection.ts';
import { projections } from '../../projections/registry.ts';
import { runProjections } from '../../projections/runner.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { rebuildProjection } from '../rebuild/rebuild-projection.ts';
import { replayProjections } from '../replay/replay-projections.ts';
import { requeueEvents } from './requeue-events.ts';

/** A log and the read models that are folded from it; nobody projects. */
export interface RequeuingWorld {
  readonly log: EventLog;
  readonly database: Database;
  close(): Promise<void>;
}

const signal = new AbortController().signal;
const patient = { timeoutMs: 60_000, limitMs: 60_000, signal, progress: () => undefined };

/** Describes what a requeue from quarantine does, whatever the log. */
export function describeRequeuing(open: () => Promise<RequeuingWorld>): void {
  let world: RequeuingWorld;
  let runner: Subscription | undefined;
  beforeEach(async () => {
    world = await open();
  });
  afterEach(async () => {
    await runner?.close();
    runner = undefined;
    await world.close();
  });

  const project = async () => {
    runner = await runProjections(world);
  };
  const settled = async () => waitUntilProjected(world.database.db, await world.log.ends(TOPICS), { timeoutMs: 60_000 });
  const put = (events: readonly Envelope[], write: (event: Envelope) => Buffer = encode) =>
    world.log.append(events.map((event) => ({ topic: catalogue[event.type].topic, key: event.stream, value: write(event) })));
  const requeue = (place: LogPlace | null, timeoutMs = 60_000) =>
    requeueEvents(world, { place, reason: 'the parent is there', clock: Date.now, timeoutMs, signal });
  const waiting = () =>
    world.database.db
      .selectFrom('quarantine')
      .select(['projection', 'topic', 'partition', 'offset'])
      .where('requeuedAt', 'is', null)
      .orderBy('offset')
      .orderBy('projection')
      .execute();
  const depths = async () =>
    (await world.database.db.selectFrom('steps').select('depth').orderBy('depth').execute()).map(({ depth }) => depth);

  /** The second of two steps lies in the log before the first, and a third that hangs on it. */
  async function givenEarly(projecting = true) {
    const builder = new EventBuilder('early');
    const tree = builder.tree(builder.run(), 'a');
    const rollout = builder.rollout(tree);
    const first = builder.step(tree, rollout, tree.rootStepId, 1);
    builder.step(tree, rollout, builder.step(tree, rollout, first, 2), 3);
    const [run, opened, started, parent, early, hanging] = builder.events as [
      Envelope,
      Envelope,
      Envelope,
      Envelope,
      Envelope,
      Envelope,
    ];
    if (projecting) await project();
    await put([run, opened, started, early, hanging]);
    if (projecting) await settled();
    return { parent, builder, tree, rollout, first };
  }

  describe('requeues from quarantine', () => {
    test('a requeue is not appended while the event would be refused again; later it is, with the effect on each projection', async () => {
      const { parent } = await givenEarly();
      const before = await waiting();
      const refused = await requeue(null);
      expect(refused.map(({ appended, result }) => [appended, result.kind])).toEqual(before.map(() => [null, 'refused']));
      expect(refused[0]?.result).toMatchObject({
        reason: expect.stringContaining('append that step first, then requeue this event'),
      });
      expect(await waiting()).toEqual(before);

      await put([parent]);
      await settled();
      const { topic, partition, offset } = before[0] as LogPlace;
      const one = await requeue({ topic, partition, offset });
      expect(one.map(({ projection, result }) => [projection, result.kind])).toEqual([
        ['rewards', 'requeued'],
        ['step-tree', 'requeued'],
      ]);
      expect(one[0]?.appended).toMatchObject({ topic, partition });
      expect(await depths()).toEqual([0, 1, 2]);
      expect(await requeue({ topic, partition, offset })).toEqual([]); // nothing waits there any more
      expect((await requeue(null)).map(({ result }) => result.kind)).toEqual(['requeued', 'requeued']);
      expect(await depths()).toEqual([0, 1, 2, 3]);
      expect(await waiting()).toEqual([]);
    });

    test('two concurrent requeues of an event are folded once', async () => {
      const { parent } = await givenEarly();
      await put([parent]);
      await settled();
      const both = await Promise.all([requeue(null), requeue(null)]);
      expect(new Set(both.flat().map(({ result }) => result.kind))).toEqual(new Set(['requeued']));
      await settled();
      expect(await depths()).toEqual([0, 1, 2, 3]);
      expect(await waiting()).toEqual([]);
      expect((await replayProjections(world, projections, patient)).report).toMatchObject({ outcome: 'equal', differences: [] });
    });

    test('a requeue without a running projector stays in the log, and the next one folds it', async () => {
      const { parent } = await givenEarly();
      await put([parent]);
      await settled();
      await runner?.close();
      const pending = await requeue(null, 100);
      expect(new Set(pending.map(({ result }) => result.kind))).toEqual(new Set(['pending']));
      expect(await depths()).toEqual([0, 1]);
      await project();
      await settled();
      expect(await depths()).toEqual([0, 1, 2, 3]);
      expect(await waiting()).toEqual([]);
    });

    test('a requeue lies in the partition of the waiting record, whichever its key would choose', async () => {
      const builder = new EventBuilder('elsewhere');
      builder.run();
      const [run] = builder.events as [Envelope];
      const places = await world.log.append(
        [0, 1].map((partition) => ({
          topic: 'runs',
          key: 'any',
          partition,
          value: Buffer.from(JSON.stringify({ ...run, schemaVersion: 9 })),
        })),
      );
      await project();
      await settled();
      // as after an upgrade that knows the version
      await sql`update quarantine set body = ${encode(run)}`.execute(world.database.db);
      const [, last] = places;
      const outcomes = await requeue(last ?? null);
      expect(outcomes.map(({ appended, result }) => [appended?.partition, result.kind])).toContainEqual([1, 'requeued']);
      const { rows } = await sql<LogPlace>`select topic, partition, "offset" from events`.execute(world.database.db);
      expect(rows).toEqual([outcomes[0]?.appended]);
    });

    test('a requeue during writes and folds loses no event of the journal', async () => {
      const builder = new EventBuilder('next');
      const tree = builder.tree(builder.run(), 'a');
      const rollout = builder.rollout(tree);
      let from = tree.rootStepId;
      for (let depth = 1; depth <= 150; depth++) from = builder.step(tree, rollout, from, depth);
      const events = builder.events as readonly Envelope[];
      await project();
      await put(events.slice(0, 3));
      const unread = (event: Envelope) => Buffer.from(JSON.stringify({ ...event, schemaVersion: 99 }));
      await put(events.slice(3, 83), unread); // of a version that this program does not know
      await settled();
      const { db } = world.database;
      await sql`
        update quarantine set body = convert_to(replace(convert_from(body, 'UTF8'), '"schemaVersion":99', '"schemaVersion":1'), 'UTF8')`.execute(
        db,
      ); // as after an upgrade that knows it
      const writing = (async () => {
        for (let i = 83; i < events.length; i += 3) await put(events.slice(i, i + 3));
      })();
      const outcomes = await requeue(null);
      await writing;
      await settled();
      expect(new Set(outcomes.map(({ result }) => result.kind))).toEqual(new Set(['requeued']));
      const journalled = await db
        .selectFrom('events')
        .select(['eventId', 'position'])
        .where('stream', '=', tree.treeId)
        .execute();
      expect(journalled.map(({ eventId }) => eventId).sort()).toEqual(
        events
          .slice(1)
          .map(({ id }) => id)
          .sort(),
      );
      expect(journalled.map(({ position }) => Number(position)).sort((a, b) => a - b)).toEqual(
        events.slice(1).map((_, i) => i + 1),
      );
      expect((await verifyChain(db, { signal })).faults).toEqual([]);
    });

    test('a requeue during rebuilds counts once, before and after the swap', async () => {
      const { parent, builder, tree, rollout, first } = await givenEarly();
      const chosen = projections.filter(({ name }) => name === 'step-tree' || name === 'rewards') as readonly Projection[];
      const rebuilding = (async () => {
        for (const projection of chosen)
          expect(await rebuildProjection(world, projection, { ...patient, differing: 'refuse' })).toMatchObject({
            kind: 'swapped',
          });
      })();
      await put([parent]);
      for (let i = 0; i < 5; i++) {
        const recorded = builder.events.length;
        builder.step(tree, rollout, builder.step(tree, rollout, first, 2, { stepId: builder.id('parent', i) }), 3, {
          stepId: builder.id('child', i),
        });
        const [before, child] = builder.events.slice(recorded) as [Envelope, Envelope];
        await put([child, before]);
        await settled();
        await requeue(null);
      }
      await rebuilding;
      await settled();
      expect((await requeue(null)).map(describeOutcome)).toEqual([]);
      expect(await depths()).toEqual([0, 1, ...Array(6).fill(2), ...Array(6).fill(3)]);
      expect((await replayProjections(world, chosen, patient)).report).toMatchObject({ outcome: 'equal', differences: [] });
    });
  });
}

const describeOutcome = ({ projection, place, result }: Awaited<ReturnType<typeof requeueEvents>>[number]) =>
  `${projection} ${describePlace(place)} ${result.kind}`;
