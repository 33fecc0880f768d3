import { expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { MemoryBlobs } from '../../testing/memory-blobs.ts';
import { givenPrepared } from '../../testing/projecting-log.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { digestRun } from './digest-trees.ts';

const database = useTestDatabase({ emptied: 'before-each' });

/** The same run recorded under another name has other ids; `order` is the order in which its rollouts arrive. */
async function digestOf(name: string, order: readonly number[], value = 1, observation = 'seen'): Promise<string> {
  const recorded = new EventBuilder(name);
  const runId = recorded.run();
  for (const alias of order[0] === 0 ? ['a', 'b'] : ['b', 'a']) {
    const tree = recorded.tree(runId, alias);
    for (const ordinal of order) {
      const rolloutId = recorded.rollout(tree, ordinal);
      const leaf = recorded.step(tree, rolloutId, tree.rootStepId, 1, {
        response: `${ordinal}`,
        observation: observation.repeat(20_000),
      });
      recorded.reward(tree, leaf, value);
      recorded.finishRollout(tree, rolloutId, leaf);
    }
  }
  const blobs = new MemoryBlobs();
  await givenPrepared(database.db, recorded.events, blobs);
  const { trees, digest } = await database.db.transaction().execute((trx) => digestRun(trx, blobs, runId));
  expect(trees).toBe(2);
  return digest;
}

test('the digest does not depend on ids and order of arrival, but on every reward and long text', async () => {
  const digest = await digestOf('one', [0, 1, 2]);
  expect(await digestOf('two', [2, 0, 1])).toBe(digest);
  expect(await digestOf('three', [0, 1, 2], 0.5)).not.toBe(digest);
  expect(await digestOf('four', [0, 1, 2], 1, 'soon')).not.toBe(digest);
});
