import { expect, test } from '@jest/globals';
import { readScorable } from '../../projections/rewards/read-scorable.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { sumGroup } from './replay-scores-advantages.ts';
import { payCompression } from './replay-scores-thresholds.ts';

const database = useTestDatabase({ emptied: 'never' });

test('successes earn λ·ln(cf) at every step but the last, failures pay μ·ln(cf), and the earlier rewards are replaced', async () => {
  const { db } = database;
  const builder = new EventBuilder('compression');
  const runId = builder.run();
  const tree = builder.tree(runId);
  const walk = (ordinal: number, success: boolean) => {
    const rolloutId = builder.rollout(tree, ordinal);
    let parent = tree.rootStepId;
    const steps = [2, 3, 5].map((factor, i) => {
      parent = builder.step(tree, rolloutId, parent, i + 1, { response: `<compression>${factor}</compression>` });
      return parent;
    });
    builder.finishRollout(tree, rolloutId, parent, { steps: 3, success });
    return { rolloutId, steps };
  };
  const [good, bad] = [walk(0, true), walk(1, false)];
  builder.reward(tree, good.steps[0] ?? '', 0.01, { component: 'compression', rolloutId: good.rolloutId });
  builder.reward(tree, good.steps[2] ?? '', 1, { rolloutId: good.rolloutId });
  await givenEvents(db, builder.events);
  const pay = async (asked: Parameters<typeof payCompression>[3]) => {
    for await (const found of readScorable(db, runId)) {
      const { members } = await sumGroup(db, found, await payCompression(db, found, null, asked));
      return Object.fromEntries(members.map(({ rolloutId, before, after }) => [rolloutId, [before, after]]));
    }
    return {};
  };

  const paid = await pay({ lambda: 0.5, mu: 0.25, every: null });
  expect(paid[good.rolloutId]).toEqual([1.01, expect.closeTo(1 + 0.5 * (Math.log(2) + Math.log(3)), 12)]);
  expect(paid[bad.rolloutId]).toEqual([null, expect.closeTo(-0.25 * (Math.log(2) + Math.log(3)), 12)]);
  const published = await pay({ lambda: null, mu: null, every: null });
  expect(published[good.rolloutId]?.[1]).toBeCloseTo(1 + 0.01 * (Math.log(2) + Math.log(3)), 12);
});
