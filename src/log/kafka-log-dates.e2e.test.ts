import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { prepareEvents } from '../append/prepare-events.ts';
import { TOPICS } from '../events/catalogue.ts';
import { DEFAULT_STAMP } from '../events/envelope.ts';
import type { Platform } from '../platform/open-platform.ts';
import { runProjections } from '../projections/runner.ts';
import { environmentOf, settle } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { runInProcess } from '../testing/worker-process.ts';
import { configureTopic, readOwnSettings } from './kafka-log-testing.ts';

describeWithKafka('Kafka topics whose records the broker does not date', () => {
  let platform: Platform & { readonly home: string };
  let brokers: readonly string[];
  beforeEach(async () => {
    ({ brokers } = await kafkaForTests());
    platform = await openTestPlatform(brokers);
  });
  afterEach(() => platform.close());

  const espalier = async (...args: string[]) => {
    const { code, stdout, stderr } = await runInProcess(args, environmentOf(platform));
    if (code !== 0) throw new Error(`${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };

  test('one command dates what topics receive from then on and keeps all else that is configured, and verify reads what they hold', async () => {
    const topic = `${platform.config.kafkaPrefix}runs`;
    await configureTopic(brokers, topic, { 'retention.ms': '-1', 'segment.bytes': '1048577', 'max.message.bytes': '2162688' });
    const kept = await readOwnSettings(brokers, topic);
    expect(kept).toEqual({ 'retention.ms': '-1', 'segment.bytes': '1048577', 'max.message.bytes': '2162688' });
    const projector = await runProjections({ log: platform.log, database: platform.database });
    try {
      const builder = new EventBuilder('dated');
      builder.run('before');
      await platform.log.append(await prepareEvents(builder.events, platform.blobs, DEFAULT_STAMP));

      const planned = await espalier('log', 'date-topics', '--dry-run');
      expect(planned).toContain("1 topic would be dated from now on; records that they hold keep their producers' times");
      expect(await readOwnSettings(brokers, topic)).toEqual(kept);
      expect(JSON.parse(await espalier('--json', 'log', 'date-topics'))).toEqual({
        dated: true,
        topics: [{ topic: 'runs', settings: kept }],
      });
      expect(await readOwnSettings(brokers, topic)).toEqual({ ...kept, 'message.timestamp.type': 'LogAppendTime' });
      expect(await espalier('log', 'date-topics')).toBe('every topic is dated; nothing to change\n');

      builder.run('after');
      await platform.log.append(await prepareEvents(builder.events.slice(1), platform.blobs, DEFAULT_STAMP));
      await settle(platform);
      const { rows } = await platform.database.pool.query(
        'select event_id, received_at is not null as dated from events order by received_at nulls first',
      );
      expect(rows).toEqual(builder.events.map(({ id }, i) => ({ event_id: id, dated: i === 1 })));
    } finally {
      await projector.close();
    }
    expect(JSON.parse(await espalier('--json', 'verify'))).toMatchObject({ faulty: 0, records: 2 });
    const ends = await platform.log.ends(TOPICS);
    expect([...(ends.get('runs')?.values() ?? [])].reduce((sum, end) => sum + end, 0)).toBe(2);
  });
});
