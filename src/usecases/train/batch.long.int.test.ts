import { expect, test } from '@jest/globals';
import { project } from '../../app/project.ts';
import { catalogue } from '../../events/catalogue.ts';
import { encode } from '../../events/codec.ts';
import { createLogger } from '../../runtime/logger.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { recordGroup, recordLineage } from '../../testing/record-training.ts';
import { until } from '../../testing/until.ts';
import { batch } from './batcher/run-batcher.ts';

test('two concurrent batchers plan each arriving sample once, and stop on request', async () => {
  const platform = await openTestPlatform();
  const logger = createLogger({ level: 'error' });
  const projector = await project(platform, logger);
  const batchers = [await batch(platform, logger), await batch(platform, logger)];
  try {
    const builder = new EventBuilder('arriving');
    const policyId = 'linear:live';
    recordLineage(builder, policyId, { groupsPerBatch: 1, maxStaleness: null });
    const runId = builder.run('run', { config: { training: { policyId, channel: 'train' } } });
    let appended = 0;
    for (let i = 0; i < 6; i++) {
      recordGroup(builder, runId, `task ${i}`, { policyId, rewards: [0, 1] });
      const records = builder.events.slice(appended).map((event) => {
        return { topic: catalogue[event.type].topic, key: event.stream, value: encode(event) };
      });
      appended = builder.events.length;
      await platform.log.append(records);
      await until(async () => (await platform.database.db.selectFrom('batches').select('ordinal').execute()).length > i);
    }
    const rows = await platform.database.db.selectFrom('batches').select(['ordinal', 'samples']).orderBy('ordinal').execute();
    expect(rows).toEqual([0, 1, 2, 3, 4, 5].map((ordinal) => ({ ordinal, samples: 2 })));
    expect(await platform.database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    expect(await platform.database.db.selectFrom('anomalies').select('kind').execute()).toEqual([]);
  } finally {
    for (const batcher of batchers) await batcher.close();
    await projector.close();
    await platform.close();
  }
});
