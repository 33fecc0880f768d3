import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { foldEachAlone, foldedState, type Partition, partitionsOf, sliceOf } from '../testing/partitions.ts';
import { emptyReadModels } from '../testing/read-models.ts';
import { choices, lates, recordBushyRun, recordedLate } from '../testing/record-bushy-run.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { applySlices } from './apply-slices.ts';
import { topicsOf } from './concerns.ts';
import type { Projection } from './projection.ts';
import { projections } from './registry.ts';
import type { Slice } from './slice.ts';

const PARTITIONS = 3;
const database = useTestDatabase({ emptied: 'before-each' });

/** Projections for which Postgres refuses a value of one event. */
function refusing(topic: string, partition: number, offset: number): readonly Projection[] {
  return projections.map((projection) => ({
    ...projection,
    project: async (batch, trx) => {
      const isIn = batch.some((d) => d.topic === topic && d.partition === partition && d.offset === offset);
      await sql`select ${isIn ? 1e9 : 1}::float8::smallint`.execute(trx);
      return projection.project(batch, trx);
    },
  }));
}

/** Offers slices to the projections that read their topics, and returns how far all projections are in the partition of each. */
async function offer(offered: readonly Projection[], slices: readonly Slice[]): Promise<readonly number[]> {
  const offers = offered.flatMap((projection) =>
    slices.filter(({ topic }) => topicsOf(projection).includes(topic)).map((slice) => ({ projection, slice })),
  );
  const results = await applySlices(database.db, offers);
  return slices.map((slice) => {
    const cursors = offers.flatMap((one) => {
      const result = results.get(one);
      return one.slice === slice && result && 'cursor' in result ? [result.cursor] : [];
    });
    return Math.min(slice.next, ...cursors);
  });
}

/** Offers what partitions hold until all is folded, as `turns` say: how much of each, whether it begins elsewhere, and twice. */
async function offerAll(offered: readonly Projection[], partitions: readonly Partition[], turns: readonly Turn[]): Promise<void> {
  const reached = partitions.map(() => 0);
  for (let round = 0; reached.some((at, i) => at < (partitions[i]?.records.length ?? 0)); round++) {
    const taken: { readonly i: number; readonly slice: Slice }[] = [];
    for (const [i, partition] of partitions.entries()) {
      const { length, jump } = turns[(round + i) % turns.length] ?? FIRST;
      const end = partition.records.length;
      if (reached[i] === end) continue;
      const from = Math.max(0, Math.min(end - 1, (reached[i] ?? 0) + (round % 2 === 0 ? jump : 0)));
      taken.push({ i, slice: await sliceOf(database.db, partition, from, Math.min(end, from + length)) });
    }
    const slices = taken.map(({ slice }) => slice);
    const twice = turns[round % turns.length]?.twice ?? false;
    const answers = await Promise.all([offer(offered, slices), ...(twice ? [offer(offered, slices.slice(1))] : [])]);
    for (const [at, { i }] of taken.entries()) reached[i] = answers[0]?.[at] ?? 0;
  }
}

interface Turn {
  readonly length: number;
  /** From how far behind, or above, the cursor a slice begins. */
  readonly jump: number;
  /** Another projector, which was replaced and does not know it, is offered most of the slices in the same moment. */
  readonly twice: boolean;
}
const FIRST: Turn = { length: 1, jump: 0, twice: false };
const turns = fc.array(
  fc.record({ length: fc.integer({ min: 1, max: 30 }), jump: fc.integer({ min: -9, max: 9 }), twice: fc.boolean() }),
  { minLength: 1, maxLength: 7 },
);

test('slices over partitions, of which some are below or above their cursors, one holds poison and some are with two projectors, lead to the rows of each folded alone', async () => {
  await fc.assert(
    fc.asyncProperty(choices, lates, fc.nat(), turns, async (recorded, late, bad, taken) => {
      const partitions = partitionsOf(PARTITIONS, recordedLate(recordBushyRun(recorded).events, late));
      const poisoned = partitions[bad % partitions.length];
      if (!poisoned) return;
      const offered = refusing(poisoned.topic, poisoned.partition, bad % poisoned.records.length);
      await emptyReadModels(database.db);
      await foldEachAlone(database.db, offered, partitions);
      const alone = await foldedState(database.db);
      await emptyReadModels(database.db);
      await offerAll(offered, partitions, taken);
      expect(await foldedState(database.db)).toEqual(alone);
    }),
    { numRuns: 2 },
  );
});
