import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Envelope } from '../events/envelope.ts';
import type { Trx } from '../postgres/database.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { foldEachAlone, foldedState, partitionsOf, sliceOf } from '../testing/partitions.ts';
import { emptyReadModels } from '../testing/read-models.ts';
import { recordRenderSpec, recordSegment } from '../testing/record-images.ts';
import { until } from '../testing/until.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { applySlice, applySlices, type SliceOffer } from './apply-slices.ts';
import { topicsOf } from './concerns.ts';
import type { Projection } from './projection.ts';
import { projections } from './registry.ts';
import type { Slice } from './slice.ts';
import { stepTree } from './step-tree/step-tree.ts';

const PARTITIONS = 2;
const MANY = 60;

const database = useTestDatabase({ emptied: 'before-each' });

/** Offers the second part of each partition of a record to projections, whose first part is folded. */
async function halves(
  { first, second }: { readonly first: readonly Envelope[]; readonly second: readonly Envelope[] },
  to = projections,
): Promise<readonly SliceOffer[]> {
  await foldEachAlone(database.db, projections, partitionsOf(PARTITIONS, first));
  const lengths = new Map(partitionsOf(PARTITIONS, first).map((p) => [`${p.topic} ${p.partition}`, p.records.length]));
  const slices: Slice[] = [];
  for (const partition of partitionsOf(PARTITIONS, [...first, ...second])) {
    const from = lengths.get(`${partition.topic} ${partition.partition}`) ?? 0;
    if (from > 0 && from < partition.records.length)
      slices.push(await sliceOf(database.db, partition, from, partition.records.length));
  }
  return to.flatMap((projection) =>
    slices.flatMap((slice) => (topicsOf(projection).includes(slice.topic) ? [{ projection, slice }] : [])),
  );
}

/** A run whose segments are drawn and whose trees are walked, and what comes after: walks, and the segments drawn again. */
function recorded(): { readonly first: readonly Envelope[]; readonly second: readonly Envelope[] } {
  const builder = new EventBuilder('together');
  const runId = builder.run();
  const trees = ['a', 'b', 'c'].map((name) => builder.tree(runId, name));
  for (const tree of trees) builder.walk(tree, 0, 3, 1);
  const spec = recordRenderSpec(builder, runId);
  for (let i = 0; i < MANY; i++) recordSegment(builder, runId, spec, `record ${i}`);
  const first = [...builder.events];
  for (const tree of trees) builder.walk(tree, 1, MANY, 1);
  const again = first.filter(({ type }) => type === 'SegmentRendered');
  return { first, second: [...builder.events.slice(first.length), ...again] };
}

function withProjection(changed: Projection): readonly Projection[] {
  return projections.map((projection) => (projection.name === changed.name ? changed : projection));
}

test('projections fold slices in one transaction to the rows of each folded alone, also what several processes recorded alike', async () => {
  const record = recorded();
  await foldEachAlone(database.db, projections, partitionsOf(PARTITIONS, [...record.first, ...record.second]));
  const alone = await foldedState(database.db);
  await emptyReadModels(database.db);
  const offers = await halves(record);
  const results = await applySlices(database.db, offers);
  expect(offers.map((offer) => results.get(offer))).toEqual(
    offers.map(({ slice: { next } }) => expect.objectContaining({ cursor: next })),
  );
  expect(await foldedState(database.db)).toEqual(alone);
});

test('a wrong statement of one projection fails its own offers, writes nothing for it, and holds up no other', async () => {
  const record = recorded();
  const failing: Projection = { ...stepTree, project: (_, trx) => sql`select of from nothing`.execute(trx).then(() => []) };
  const offers = await halves(record, withProjection(failing));
  const results = await applySlices(database.db, offers);
  const failed = offers.filter((offer) => 'error' in (results.get(offer) ?? {}));
  expect(failed).toEqual(offers.filter(({ projection }) => projection.name === 'step-tree'));
  const { rows } = await sql<{ name: string; behind: boolean }>`
    select distinct c.projection as name, bool_or(c.next_offset < e.end) as behind from cursors c
    join (select topic, partition, max(next_offset) as end from cursors group by topic, partition) e using (topic, partition)
    group by c.projection`.execute(database.db);
  expect(rows.filter(({ behind }) => behind).map(({ name }) => name)).toEqual(['step-tree']);
  expect(await database.db.selectFrom('steps').select('stepId').execute()).toHaveLength(3 * 4); // of each tree the root and three steps
});

test('a slice below its cursor changes nothing, and one that begins above it is left with the cursor to read from', async () => {
  const offers = await halves(recorded());
  const [one] = offers.filter(({ projection }) => projection.name === 'step-tree');
  if (!one) throw new Error('step-tree is offered a slice');
  const { from, next } = one.slice;
  const before = await foldedState(database.db);
  const below = { ...one.slice, from: 0, next: from };
  const higher = { ...one.slice, from: from + 1 };
  expect(await applySlice(database.db, stepTree, below)).toEqual({ cursor: from, quarantined: 0 });
  expect(await applySlice(database.db, stepTree, higher)).toEqual({ cursor: from, quarantined: 0 });
  expect(await foldedState(database.db)).toEqual(before);
  expect(next).toBeGreaterThan(from + 1);
});

test('a cursor that another process holds is waited for after the other offers are applied', async () => {
  const offers = await halves(recorded());
  const [held] = offers;
  if (!held) throw new Error('slices are offered to projections');
  const { name, version } = held.projection;
  const cursorsBehind = async () => {
    const rows = await database.db.selectFrom('cursors').select(['projection', 'topic', 'partition', 'nextOffset']).execute();
    return offers.filter(
      ({ projection, slice }) =>
        !rows.some(
          (row) =>
            row.projection === projection.name &&
            row.topic === slice.topic &&
            row.partition === slice.partition &&
            row.nextOffset === slice.next,
        ),
    );
  };
  const holder = await database.db.startTransaction().execute();
  await sql`select from cursors where projection = ${name} and version = ${version} and topic = ${held.slice.topic} and partition = ${held.slice.partition} for update`.execute(
    holder,
  );
  const applying = applySlices(database.db, offers);
  await until(async () => (await cursorsBehind()).length === 1).finally(() => holder.rollback().execute());
  await applying;
  expect(await cursorsBehind()).toEqual([]);
});

test.each([
  { what: 'Postgres cannot hold a value (class 22)', refuse: (trx: Trx) => sql`select 1e9::float8::smallint`.execute(trx) },
  { what: 'a column takes no null (class 23)', refuse: (trx: Trx) => sql`insert into trees default values`.execute(trx) },
  {
    what: 'there are too many columns (class 54)',
    refuse: (trx: Trx) => sql.raw(`select ${Array.from({ length: 1_700 }, (_, i) => i).join(', ')}`).execute(trx),
  },
  { what: 'the fold throws', refuse: () => Promise.reject(new RangeError('a stack that is too deep')) },
])(
  'where $what, the one event is set aside for the projection that refuses it, and all others are folded',
  async ({ refuse }) => {
    const builder = new EventBuilder('refused');
    const runId = builder.run();
    for (const name of ['a', 'b', 'c', 'd', 'e']) builder.tree(runId, name);
    const refused = builder.id('tree', runId, 'd');
    const refusing: Projection = {
      ...stepTree,
      project: async (batch, trx) => {
        if (batch.some(({ event }) => event.stream === refused)) await refuse(trx);
        return stepTree.project(batch, trx);
      },
    };
    const offers: SliceOffer[] = [];
    for (const partition of partitionsOf(1, builder.events)) {
      const slice = await sliceOf(database.db, partition, 0, partition.records.length);
      for (const projection of withProjection(refusing))
        if (topicsOf(projection).includes(slice.topic)) offers.push({ projection, slice });
    }
    const results = await applySlices(database.db, offers);
    expect(offers.map((offer) => results.get(offer))).toEqual(
      offers.map(({ projection, slice: { topic, next } }) => ({
        cursor: next,
        quarantined: projection.name === 'step-tree' && topic === 'trees' ? 1 : 0,
      })),
    );
    expect(await database.db.selectFrom('trees').select('treeId').execute()).toHaveLength(4);
    expect(await database.db.selectFrom('quarantine').select(['projection', 'offset', 'code']).execute()).toEqual([
      { projection: 'step-tree', offset: 3, code: 'unstorable' },
    ]);
    expect(await database.db.selectFrom('events').select('eventId').execute()).toHaveLength(builder.events.length);
  },
);
