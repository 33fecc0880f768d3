import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { prepareEvents } from '../append/prepare-events.ts';
import { TOPICS } from '../events/catalogue.ts';
import { DEFAULT_STAMP } from '../events/envelope.ts';
import { openKafkaLog } from '../log/kafka-log.ts';
import { deleteHalf, growTopics, remakeTopic } from '../log/kafka-log-testing.ts';
import { prefixedLog } from '../log/prefixed-log.ts';
import { runProjections } from '../projections/runner.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runInProcess, startRole } from '../testing/worker-process.ts';
import type { Platform } from './open-platform.ts';
import { openRecordedLog } from './open-recorded-log.ts';

const RUN = '11111111-1111-4111-8111-111111111111';

describeWithKafka('a log on Kafka that changed', () => {
  let platform: Platform & { readonly home: string };
  let brokers: readonly string[];
  let env: Readonly<Record<string, string>>;
  const topicOf = (topic: string) => `${platform.config.kafkaPrefix}${topic}`;
  beforeEach(async () => {
    ({ brokers } = await kafkaForTests());
    platform = await openTestPlatform(brokers);
    env = environmentOf(platform);
  });
  afterEach(async () => {
    await platform.close();
  });
  afterAll(killRunning);

  const espalier = async (...args: string[]) => {
    const { code, stdout, stderr } = await runInProcess(args, env);
    return { code, said: `${stdout}${stderr}` };
  };
  const done = async (...args: string[]) => {
    const { code, said } = await espalier(...args);
    if (code !== 0) throw new Error(`${args.join(' ')}: ${said}`);
    return said;
  };
  const collect = (run: string) =>
    done('collect', '--run', run, '--tasks', '12', '--rollouts', '2', '--policy', 'planner:0.5', '--seed', '3');

  /** Starts a worker; returns how it ended and what it said. */
  async function worker(name: string) {
    const child = startRole(name, env);
    const code = await child.ended;
    return { code, said: child.stderr() };
  }

  test('a topic that got partitions is refused by the next start with the remedy, while what runs moves no stream', async () => {
    await collect(RUN);
    await growTopics(brokers, TOPICS.map(topicOf), 7);
    const builder = new EventBuilder('grown');
    const trees = Array.from({ length: 12 }, (_, i) => builder.tree(builder.run(), `tree ${i}`));
    const receipts = await platform.log.append(await prepareEvents(builder.events, platform.blobs, DEFAULT_STAMP));
    expect(receipts.length).toBeGreaterThan(trees.length);
    expect(receipts.every(({ partition }) => partition < 4)).toBe(true);
    const { code, said } = await espalier('collect', '--resume', RUN);
    expect(code).toBe(1);
    expect(said).toMatch(/topic \w+ has 7 partitions, and 4 are recorded.*restore the topics/);
    await done('export', '--format', 'jsonl', '--out', `${platform.home}/kept.jsonl`);
  });

  test('a topic that lost records is refused by every worker and command, and verify names the loss', async () => {
    await collect(RUN);
    const gone = await deleteHalf(brokers, topicOf('trees'));
    expect(gone).toBeGreaterThan(10);
    const refusal = /the log is not as it was recorded: trees\.\d no longer holds the records from 0 to \d+.*restore the topics/;
    for (const name of ['project', 'api', 'batch', 'relay']) {
      const { code, said } = await worker(name);
      expect([name, code]).toEqual([name, 1]);
      expect(said).toMatch(refusal);
    }
    for (const args of [['replay', 'projections'], ['rebuild', 'journal'], ['collect', '--resume', RUN], ['up']]) {
      const { code, said } = await espalier(...args);
      expect([args[0], code]).toEqual([args[0], 1]);
      expect(said).toMatch(refusal);
    }
    const verified = await espalier('verify');
    expect(verified.code).toBe(1);
    expect(verified.said).toMatch(/1 faults in \d+ events.*\nlog missing: trees\.\d no longer holds the records from 0/);
    expect((await espalier('status')).said).toMatch(refusal);
    await done('export', '--format', 'jsonl', '--out', `${platform.home}/kept.jsonl`);
  });

  test('a topic that was made again is refused by its end', async () => {
    const builder = new EventBuilder('made again');
    builder.walk(builder.tree(builder.run(), 'a'), 0, 4, 1);
    const records = await prepareEvents(builder.events, platform.blobs, DEFAULT_STAMP);
    await platform.log.append(records);
    const runner = await runProjections({ log: platform.log, database: platform.database });
    await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });
    await runner.close();
    const bare = prefixedLog(await openKafkaLog({ brokers, clientId: 'again' }), platform.config.kafkaPrefix);
    const open = () =>
      openRecordedLog(bare, platform.database.db, {
        topics: TOPICS,
        partitions: 4,
        onFaults: 'refuse',
      });
    try {
      await open();
      await remakeTopic(brokers, topicOf('trees'), 4);
      await expect(open()).rejects.toThrow(/trees\.\d ends at 0, and was folded up to/);
    } finally {
      await bare.close();
    }
  });
});
