import { expect, test } from '@jest/globals';
import { prepareEvents } from '../append/prepare-events.ts';
import { TOPICS } from '../events/catalogue.ts';
import { DEFAULT_STAMP } from '../events/envelope.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { MemoryBlobs } from '../testing/memory-blobs.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { emptyReadModels, readModels } from '../testing/read-models.ts';
import { runProjections } from './runner.ts';
import { waitUntilProjected } from './wait-until.ts';

describeWithKafka('the runner over Kafka', () => {
  test('the runner starts at the cursors of the database, and folds again where rows and cursors were lost', async () => {
    const platform = await openTestPlatform((await kafkaForTests()).brokers);
    const { log, database } = platform;
    try {
      const builder = new EventBuilder('kafka cursors');
      const tree = builder.tree(builder.run());
      builder.walk(tree, 0, 4, 1);
      await log.append(await prepareEvents(builder.events, new MemoryBlobs(), DEFAULT_STAMP));
      const foldAll = async () => {
        const runner = await runProjections({ log, database });
        await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: 20_000 });
        await runner.close();
        return readModels(database.db);
      };
      const before = await foldAll();
      await database.pool.query("delete from cursors where projection in ('rewards', 'runs')");
      await database.pool.query(
        'truncate rewards_v4.rewards, rewards_v4.reward_edges, rewards_v4.reward_trees, rewards_v4.returns, rewards_v4.run_returns, runs_v2.runs',
      );
      expect(await foldAll()).toEqual(before);
    } finally {
      await platform.close();
    }
  });

  test('the runner folds again what the database lost during its work, although nothing is appended', async () => {
    const platform = await openTestPlatform((await kafkaForTests()).brokers);
    const { log, database } = platform;
    const runner = await runProjections({ log, database });
    const settled = async () => waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: 20_000 });
    try {
      const builder = new EventBuilder('kafka regressed');
      builder.walk(builder.tree(builder.run()), 0, 4, 1);
      await log.append(await prepareEvents(builder.events, new MemoryBlobs(), DEFAULT_STAMP));
      await settled();
      const before = await readModels(database.db);
      await emptyReadModels(database.db);
      await settled();
      expect(await readModels(database.db)).toEqual(before);
    } finally {
      await runner.close();
      await platform.close();
    }
  });
});
