import { expect, test } from '@jest/globals';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { fresh } from './contract/fixture.ts';
import { openKafkaLog } from './kafka-log.ts';
import { configureTopic, readOwnSettings } from './kafka-log-testing.ts';
import { fewCopies, topicConfiguration } from './kafka-log-topics.ts';

test.each([
  [1, {}, 1, '1'],
  [2, {}, 2, '1'],
  [5, {}, 3, '2'],
  [5, { replication: 5, minInsync: 2 }, 5, '2'],
])('with %i brokers and %j a topic has %i copies, of which %s must hold a record', (brokers, options, copies, insync) => {
  const { replicationFactor, configEntries } = topicConfiguration('t', 1, brokers, options);
  expect([replicationFactor, configEntries.find(({ name }) => name === 'min.insync.replicas')?.value]).toEqual([copies, insync]);
});

test('topics with fewer copies than new ones get are named, and none in a cluster of one broker', () => {
  const copies = new Map([
    ['runs', 1],
    ['trees', 3],
    ['pool', 2],
  ]);
  expect(fewCopies(copies, 5)).toMatch(
    /^topics have fewer than 3 copies in a cluster of 5 brokers, .*: runs \(1\), pool \(2\); /,
  );
  expect(fewCopies(copies, 2)).toContain(': runs (1); ');
  expect(fewCopies(copies, 1)).toBeNull();
});

test('more copies that hold a record than copies are refused, since nothing could be appended', () => {
  expect(() => topicConfiguration('t', 1, 1, { minInsync: 2 })).toThrow('t would have 1 copies, and 2 are to hold each record');
});

describeWithKafka('topics of another shape', () => {
  test('a start refuses fewer copies than are configured by name, and accepts them where nothing is', async () => {
    const { brokers } = await kafkaForTests();
    const topic = fresh('topic');
    const ensure = async (options: { readonly replication?: number; readonly minInsync?: number }) => {
      const log = await openKafkaLog({ brokers, clientId: 'topics', ...options });
      await log.ensureTopics([topic], 2).finally(() => log.close());
    };
    await ensure({});
    expect(await readOwnSettings(brokers, topic)).toMatchObject({ 'min.insync.replicas': '1' });
    const refused = { name: 'LogError', code: 'fatal', retryable: false };
    await expect(ensure({ replication: 2 })).rejects.toMatchObject({
      ...refused,
      message: `topic ${topic} has 1 of the 2 copies that are configured; reassign its partitions, or lower the setting`,
    });
    await expect(ensure({ minInsync: 2 })).rejects.toMatchObject({
      ...refused,
      message: `topic ${topic} has min.insync.replicas 1, and 2 is configured; raise it, or lower the setting`,
    });
    const settings = await readOwnSettings(brokers, topic);
    await configureTopic(brokers, topic, { ...settings, 'min.insync.replicas': '2' });
    await ensure({ minInsync: 2 });
  });

  test.each([
    ['message.timestamp.type', 'CreateTime', 'LogAppendTime'],
    ['max.message.bytes', '16384', '2162688'],
  ])('a start refuses a topic whose %s is %s, and names the setting', async (name, value, due) => {
    const { brokers } = await kafkaForTests();
    const topic = fresh('topic');
    const ensure = async () => {
      const log = await openKafkaLog({ brokers, clientId: 'topics' });
      await log.ensureTopics([topic], 2).finally(() => log.close());
    };
    await ensure();
    await configureTopic(brokers, topic, { ...(await readOwnSettings(brokers, topic)), [name]: value });
    await expect(ensure()).rejects.toMatchObject({
      code: 'fatal',
      message: expect.stringMatching(new RegExp(`^topic ${topic} has ${name} ${value}, .*--add-config ${name}=${due}$`)),
    });
  });
});
