import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Envelope } from '../events/envelope.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { foldEachAlone, foldedState, partitionsOf, sliceOf } from '../testing/partitions.ts';
import { emptyReadModels } from '../testing/read-models.ts';
import { recordRenderSpec, recordSegment } from '../testing/record-images.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { applyGroup } from './apply-group.ts';
import { topicsOf } from './apply-slice.ts';
import type { Pass } from './apply-together.ts';
import { type Projection, schemaNameOf } from './projection.ts';
import { projections } from './registry.ts';
import type { Slice } from './slice.ts';
import { stepTree } from './step-tree/step-tree.ts';

const PARTITIONS = 2;
const MANY = 60; // rows from which on COPY writes them
const SCHEMAS = projections.map(schemaNameOf);

const database = useTestDatabase({ emptied: 'before-each' });

/** Offers the second part of each partition of a record to projections, whose first part is folded. */
async function halves(first: readonly Envelope[], second: readonly Envelope[], to = projections): Promise<readonly Pass[]> {
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

/** A run whose segments are drawn and whose two trees are walked, and what comes behind: walks, and the segments drawn again. */
function recorded(): { readonly first: readonly Envelope[]; readonly second: readonly Envelope[] } {
  const builder = new EventBuilder('group');
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

test('projections fold slices in one transaction to the rows of each folded alone, also what several processes recorded alike', async () => {
  const { first, second } = recorded();
  await foldEachAlone(database.db, projections, partitionsOf(PARTITIONS, [...first, ...second]));
  const alone = await foldedState(database.db);
  await emptyReadModels(database.db);
  const passes = await halves(first, second);
  const { applied, quarantined } = await applyGroup(database.db, SCHEMAS, passes);
  expect(applied).toEqual(new Set(passes));
  expect(quarantined).toEqual(new Map());
  expect(await foldedState(database.db)).toEqual(alone);
});

test('nothing is written and no cursor moves when one of the projections fails', async () => {
  const { first, second } = recorded();
  const failing: Projection = { ...stepTree, project: () => Promise.reject(new Error('a bug')) };
  const others = projections.map((projection) => (projection.name === stepTree.name ? failing : projection));
  const passes = await halves(first, second, others);
  const before = await foldedState(database.db);
  await expect(applyGroup(database.db, SCHEMAS, passes)).rejects.toThrow('a bug');
  expect(await foldedState(database.db)).toEqual(before);
});

test('a cursor that is held, or is not where its slice begins, is left, and the others move', async () => {
  const { first, second } = recorded();
  const passes = await halves(first, second);
  const [held, ...others] = passes;
  const [behind, ...free] = others;
  if (!held || !behind) throw new Error('slices are offered to projections');
  const ahead = { ...behind, slice: { ...behind.slice, from: behind.slice.from + 1 } };
  await database.db.transaction().execute(async (holder) => {
    await sql`select from cursors where projection = ${held.projection.name} and topic = ${held.slice.topic} and partition = ${held.slice.partition} for update`.execute(
      holder,
    );
    const { applied } = await applyGroup(database.db, SCHEMAS, [held, ahead, ...free]);
    expect(applied).toEqual(new Set(free));
  });
});
