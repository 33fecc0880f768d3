import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { runProjections } from '../../projections/runner.ts';
import { crashService, serviceRecord, wholeRecord } from '../../testing/crashing-lease-service.ts';
import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';

let platform: Platform & { readonly home: string };
let projector: Subscription;
describeWithKafka('over Kafka', () => {
  beforeEach(async () => {
    platform = await openTestPlatform((await kafkaForTests()).brokers);
    projector = await runProjections({ log: platform.log, database: platform.database });
  });
  afterEach(async () => {
    await projector.close();
    await platform.close();
  });

  test('a trainer killed between any two statements or appends loses nothing and trains nothing twice', async () => {
    const { policies, died, points } = await crashService(platform, { seed: 6, kills: 12 });
    expect([died, points > 40]).toEqual([policies.length, true]);
    for (const policyId of ['undisturbed', ...policies])
      expect({ policyId, ...(await serviceRecord(platform, policyId)) }).toEqual({ policyId, ...wholeRecord(policyId) });
    const { db, pool } = platform.database;
    expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    // An append whose mark was lost is repeated: the journal keeps the first. Nothing is missing and nothing out of order.
    const anomalies = await db.selectFrom('anomalies').select('kind').distinct().execute();
    expect(anomalies.filter(({ kind }) => kind !== 'duplicate')).toEqual([]);
    expect((await pool.query('select * from outbox where relayed_at is null')).rows).toEqual([]);
  }, 120_000);
});
