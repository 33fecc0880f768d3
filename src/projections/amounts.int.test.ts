import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AMOUNT_LIMIT } from '../domain/reward/amount.ts';
import type { Envelope } from '../events/envelope.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { appendTo, projectSlice, testLog } from '../testing/given-events.ts';
import { emptyReadModels, readModels } from '../testing/read-models.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';

const database = useTestDatabase({ emptied: 'before-each' });

/** A tree of two steps, then rewards, revisions of the first of them, and back-ups, of the values given. */
function valued(values: readonly number[]): readonly Envelope[] {
  const builder = new EventBuilder('amounts');
  const tree = builder.tree(builder.run());
  const { rolloutId, steps } = builder.walk(tree, 0, 2, 1);
  const rewardId = builder.reward(tree, steps[0] ?? '', 1);
  for (const [i, value] of values.entries()) {
    if (i % 3 === 0) builder.reward(tree, i % 2 === 0 ? (steps[1] ?? '') : null, value, { rolloutId });
    if (i % 3 === 1)
      builder.record(
        'RewardRevised',
        { rewardId, treeId: tree.treeId, value, scorer: { name: 's', revision: String(i) }, reason: 'again' },
        tree.runId,
      );
    const path = [tree.rootStepId, ...steps];
    if (i % 3 === 2)
      builder.record(
        'ValueBackedUp',
        { treeId: tree.treeId, simulation: i, leafStepId: steps[1] ?? '', value, path },
        tree.runId,
      );
  }
  return builder.events;
}

/** Folds the events in slices that end at the cuts; returns all rows, those of the quarantine included. */
async function folded(events: readonly Envelope[], cuts: readonly number[]): Promise<unknown> {
  await emptyReadModels(database.db);
  const log = testLog();
  appendTo(log, events);
  for (const [topic, records] of log.topics) {
    const ends = [...new Set([...cuts.filter((cut) => cut < records.length), records.length])].sort((a, b) => a - b);
    for (const [i, end] of ends.entries()) await projectSlice(database.db, log, topic, ends[i - 1] ?? 0, end);
  }
  return readModels(database.db, ['quarantined_at']);
}

test('rows and quarantine do not depend on how the log is cut into batches, however large the values are', async () => {
  const value = fc.constantFrom(AMOUNT_LIMIT, -AMOUNT_LIMIT, 1.5e308, -1.5e308, 1.1e100, 0.1, 1e16, -3);
  await fc.assert(
    fc.asyncProperty(
      fc.array(value, { minLength: 3, maxLength: 9 }),
      fc.array(fc.nat({ max: 16 }), { maxLength: 5 }),
      async (values, cuts) => {
        const events = valued(values);
        const whole = await folded(events, []);
        expect(await folded(events, cuts)).toEqual(whole);
        expect(
          await folded(
            events,
            events.map((_, i) => i),
          ),
        ).toEqual(whole);
      },
    ),
    { numRuns: 2 },
  );
});

test('a value beyond the limit waits in the quarantine of every projection that folds its event, with field and limit', async () => {
  await folded(valued([AMOUNT_LIMIT, 1.1e100, -AMOUNT_LIMIT]), []);
  const waiting = await database.db.selectFrom('quarantine').select(['projection', 'code', 'field', 'reason']).execute();
  const reason = 'must lie between -1e+100 and 1e+100, so that no sum leaves the range of a number';
  expect(new Set(waiting.map(({ projection }) => projection))).toEqual(
    new Set(['journal', 'journal-chain', 'owners', 'rewards', 'training-pool']),
  );
  for (const row of waiting) expect(row).toMatchObject({ code: 'invalid', field: 'data.value', reason });
  const [sum] = await database.db.selectFrom('nodeStatistics').select('valueSum').distinct().execute();
  expect(sum).toEqual({ valueSum: -AMOUNT_LIMIT });
});
