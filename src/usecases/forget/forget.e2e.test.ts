import { expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { stampOf } from '../../events/envelope.ts';
import { positionAfter } from '../../log/position.ts';
import { setPayloadPolicy } from '../../postgres/payload-policies.ts';
import { runProjections } from '../../projections/runner.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { secretRun, tablesWith } from '../../testing/secret-run.ts';
import { until } from '../../testing/until.ts';
import { verifyRecord } from '../verify/verify-record.ts';
import { forget, planForgetting } from './forget.ts';

const SECRET = 'Ada lives at number nine';
const signal = new AbortController().signal;

describeWithKafka('over Kafka', () => {
  test('a forgotten run leaves its text in no table and no record of the topics, and verify stays intact', async () => {
    const platform = await openTestPlatform((await kafkaForTests()).brokers);
    const projector = await runProjections({ log: platform.log, database: platform.database });
    try {
      const { db } = platform.database;
      await setPayloadPolicy(db, 'default', { seal: true });
      const [mine, other] = [secretRun('mine', SECRET), secretRun('other', 'Grace')];
      const events = await prepareEvents([...mine.events, ...other.events], platform.blobs, stampOf({}));
      const receipts = await platform.log.append(events);
      await waitUntilProjected(db, positionAfter(receipts), { timeoutMs: 60_000 });
      const plan = await planForgetting(platform, { kind: 'runs', ids: [mine.runId] });
      const options = { by: 'tester', reason: 'asked for', signal, limitMs: 120_000, progress: () => undefined, blobGraceMs: 0 };
      expect(await forget(platform, plan, options)).toEqual({ keys: 2, blobs: 1, blobsLeft: 0 });

      expect(await tablesWith(db, SECRET)).toEqual([]);
      expect(await tablesWith(db, 'Grace')).not.toEqual([]);
      const { faults } = await verifyRecord(platform, { files: [], signal });
      expect(faults.filter(({ what }) => what !== 'prompt')).toEqual([]);
      const lying: string[] = [];
      const reader = await platform.log.subscribe({
        group: 'reads what lies in the topics',
        topics: ['runs', 'trees'],
        startAt: async () => 0,
        handle: async ({ records, next }) => {
          lying.push(...records.map(({ value }) => Buffer.from(value ?? []).toString('utf8')));
          return { kind: 'done', next };
        },
      });
      try {
        await until(() => lying.some((record) => record.includes('PayloadForgotten')));
        await until(() => lying.length > mine.events.length + other.events.length);
      } finally {
        await reader.close();
      }
      expect(lying.filter((record) => record.includes(SECRET))).toEqual([]);
      expect(lying.filter((record) => record.includes('PayloadForgotten'))).toHaveLength(1);
    } finally {
      await projector.close();
      await platform.close();
    }
  });
});
