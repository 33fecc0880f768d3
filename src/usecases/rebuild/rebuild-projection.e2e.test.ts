import { expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { DEFAULT_STAMP } from '../../events/envelope.ts';
import { projections } from '../../projections/registry.ts';
import { runProjections } from '../../projections/runner.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { MemoryBlobs } from '../../testing/memory-blobs.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { replayProjections } from '../replay/replay-projections.ts';
import { rebuildProjection } from './rebuild-projection.ts';

describeWithKafka('a rebuild over Kafka', () => {
  test('a rebuild takes over with equal tables while events are written, and is folded further', async () => {
    const platform = await openTestPlatform((await kafkaForTests()).brokers);
    const { log, database } = platform;
    const options = { signal: new AbortController().signal, progress: () => undefined, limitMs: 60_000 };
    const chosen = projections.filter(({ name }) => name === 'step-tree');
    const settled = async () => waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: 60_000 });
    const runner = await runProjections({ log, database });
    try {
      const builder = new EventBuilder('kafka rebuild');
      const runId = builder.run();
      const trees = ['a', 'b', 'c'].map((name) => builder.tree(runId, name));
      let appended = 0;
      let ordinal = 0;
      const record = async () => {
        for (const tree of trees) builder.walk(tree, ordinal, 3, 1);
        ordinal++;
        await log.append(await prepareEvents(builder.events.slice(appended), new MemoryBlobs(), DEFAULT_STAMP));
        appended = builder.events.length;
        await settled();
      };
      await record();
      let writing = true;
      const writer = (async () => {
        while (writing) await record();
      })();
      try {
        for (const projection of chosen)
          expect(await rebuildProjection(platform, projection, { ...options, differing: 'refuse' })).toMatchObject({
            kind: 'swapped',
            from: projection.version,
            to: 1_000_000 + projection.version,
            comparison: { differences: [] },
          });
      } finally {
        writing = false;
        await writer;
      }
      // by threads, each with a client of its own
      const threads = { ...platform.threads, threads: 2, from: 1 };
      for (const projection of chosen)
        expect(await rebuildProjection({ ...platform, threads }, projection, { ...options, differing: 'refuse' })).toMatchObject({
          kind: 'swapped',
          comparison: { differences: [] },
        });
      await record();
      const steps = await database.db.selectFrom('steps').select('stepId').execute();
      expect(steps).toHaveLength(3 + 9 * ordinal);
      expect((await replayProjections(platform, chosen, options)).report).toMatchObject({ outcome: 'equal', differing: 0 });
    } finally {
      await runner.close();
      await platform.close();
    }
  });
});
