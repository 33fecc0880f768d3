import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { catalogue } from '../events/catalogue.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { foldEachAlone, foldedState, type Partition, partitionsOf, sliceOf } from '../testing/partitions.ts';
import { emptyReadModels } from '../testing/read-models.ts';
import { choices, lates, recordBushyRun, recordedLate } from '../testing/record-bushy-run.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { isConcerned, topicsOf } from './apply-slice.ts';
import { applyTogether, passCursors } from './apply-together.ts';
import { applyIsolatingPoison } from './isolate-poison.ts';
import type { Projection } from './projection.ts';
import { projections } from './registry.ts';
import { runs as runsProjection } from './runs/runs.ts';
import type { Slice } from './slice.ts';
import { stepTree } from './step-tree/step-tree.ts';

const PARTITIONS = 3;
const database = useTestDatabase({ emptied: 'before-each' });

/** Applies slices as the runner does: together what can be, alone what is left, and what throws one by one. */
async function applyAll(projection: Projection, slices: readonly Slice[]): Promise<void> {
  const { applied } = await applyTogether(database.db, projection, slices).catch(() => ({ applied: new Set<Slice>() }));
  for (const slice of slices) if (!applied.has(slice)) await applyIsolatingPoison(database.db, projection, slice);
}

test('slices of several partitions that are folded together lead to the rows of each folded alone', async () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 9 });
  await fc.assert(
    fc.asyncProperty(choices, lates, lengths, async (recorded, late, cut) => {
      const partitions = partitionsOf(PARTITIONS, recordedLate(recordBushyRun(recorded).events, late));
      await emptyReadModels(database.db);
      await foldEachAlone(database.db, projections, partitions);
      const alone = await foldedState(database.db);

      await emptyReadModels(database.db);
      const reached = partitions.map(() => 0);
      for (let round = 0; reached.some((from, i) => from < (partitions[i]?.records.length ?? 0)); round++) {
        const slices: Slice[] = [];
        for (const [i, partition] of partitions.entries()) {
          const from = reached[i] ?? 0;
          const next = Math.min(partition.records.length, from + (cut[(round + i) % cut.length] ?? 1));
          if (next > from) slices.push(await sliceOf(database.db, partition, from, next));
          reached[i] = next;
        }
        for (const projection of projections)
          await applyAll(
            projection,
            slices.filter(({ topic }) => topicsOf(projection).includes(topic)),
          );
      }
      expect(await foldedState(database.db)).toEqual(alone);
    }),
    { numRuns: 2 },
  );
});

/** Two trees in two partitions, whose first halves are folded. */
async function halves(): Promise<{ readonly partitions: readonly Partition[]; readonly second: readonly Slice[] }> {
  for (let i = 0; ; i++) {
    const builder = new EventBuilder(`halves ${i}`);
    const runId = builder.run();
    for (const name of ['a', 'b']) {
      const tree = builder.tree(runId, name);
      builder.walk({ ...tree, runId }, 0, 3, 1);
    }
    const partitions = partitionsOf(
      PARTITIONS,
      builder.events.filter(({ type }) => catalogue[type].topic === 'trees'),
    );
    if (partitions.length < 2) continue;
    const second: Slice[] = [];
    for (const partition of partitions) {
      await applyIsolatingPoison(database.db, stepTree, await sliceOf(database.db, partition, 0, 2));
      second.push(await sliceOf(database.db, partition, 2, partition.records.length));
    }
    return { partitions, second };
  }
}

test('a slice below or above its cursor, or of a cursor that somebody holds, is left; the others are folded', async () => {
  const { partitions, second } = await halves();
  const [one, other] = partitions as [Partition, Partition];
  const again = await sliceOf(database.db, one, 0, 2);
  const ahead = await sliceOf(database.db, one, 3, 4);
  for (const left of [again, ahead]) expect((await applyTogether(database.db, stepTree, [left])).applied).toEqual(new Set());

  await database.db.transaction().execute(async (holder) => {
    await sql`select from cursors where projection = 'step-tree' and topic = ${one.topic} and partition = ${one.partition} for update`.execute(
      holder,
    );
    const { applied } = await applyTogether(database.db, stepTree, second);
    expect([...applied].map(({ partition }) => partition)).toEqual([other.partition]);
  });
  expect((await applyTogether(database.db, stepTree, second)).applied).toEqual(new Set([second[0]]));
  const steps = await database.db.selectFrom('steps').select('treeId').execute();
  expect(steps).toHaveLength(2 * 4); // of each tree the root and three steps
});

test('nothing is written and no cursor moves when one of the slices is refused by Postgres', async () => {
  const { second } = await halves();
  const before = await foldedState(database.db);
  const failing: Projection = {
    ...stepTree,
    project: async (batch, trx) => {
      await stepTree.project(batch, trx);
      await sql`select 1 / 0`.execute(trx);
      return [];
    },
  };
  await expect(applyTogether(database.db, failing, second)).rejects.toThrow('division by zero');
  expect(await foldedState(database.db)).toEqual(before);
});

test('cursors pass slices that do not concern their projection, but one that is elsewhere or held', async () => {
  const { partitions, second } = await halves();
  const [one] = second as [Slice];
  expect(isConcerned(runsProjection, one)).toBe(false);
  const cursorOf = () =>
    database.db.selectFrom('cursors').select('nextOffset').where('projection', '=', 'runs').where('topic', '=', 'trees');
  for (const { topic, partition } of partitions)
    await sql`insert into cursors (projection, version, topic, partition, next_offset) values ('runs', ${runsProjection.version}, ${topic}, ${partition}, 2)`.execute(
      database.db,
    );
  const passes = second.map((slice) => ({ projection: runsProjection, slice }));
  const wrong = { projection: runsProjection, slice: { ...one, from: 1 } };
  await database.db.transaction().execute(async (holder) => {
    await sql`select from cursors where projection = 'runs' and partition = ${one.partition} for update`.execute(holder);
    expect(await passCursors(database.db, [...passes, wrong])).toEqual(new Set(passes.slice(1)));
  });
  expect(await passCursors(database.db, passes)).toEqual(new Set(passes.slice(0, 1)));
  expect((await cursorOf().execute()).map(({ nextOffset }) => nextOffset)).toEqual(second.map(({ next }) => next));
});
