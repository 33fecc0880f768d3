import { afterEach, expect, test } from '@jest/globals';
import { checkRecord } from '../infra/chaos/check-record.ts';
import { chaosPlan, trainUndisturbed } from '../infra/chaos/train-disturbed.ts';
import { openTestPlatform } from '../src/testing/open-test-platform.ts';
import { killRunning } from '../src/testing/worker-process.ts';

type Home = Awaited<ReturnType<typeof openTestPlatform>>;
const open: Home[] = [];
afterEach(async () => {
  await killRunning();
  for (const platform of open.splice(0)) await platform.close();
});
async function opened(): Promise<Home> {
  const platform = await openTestPlatform();
  open.push(platform);
  return platform;
}

test('any broken promise is reported', async () => {
  const plan = chaosPlan(8, 1);
  const platform = await opened();
  const expected = await trainUndisturbed(platform, plan);
  const { db, pool } = platform.database;
  const run = await db.selectFrom('trainingRuns').select('runId').where('channel', '=', 'train').executeTakeFirstOrThrow();
  const lost = '00000000-0000-4000-8000-000000000000';
  const recorded = {
    policyId: plan.policyId,
    runId: run.runId,
    acknowledged: [lost],
    expected: { weights: ['other'], trees: [] },
  };
  await pool.query('delete from batch_samples where place = 0');
  await pool.query(
    `update journal_v1.events e set body = replace(s.body, 'StepTaken', 'StepTakem') from events s
     where s.event_id = e.event_id and e.event_id = (select event_id from events where type = 'StepTaken' limit 1)`,
  );
  const broken = (await checkRecord(platform, recorded)).filter((check) => check.broken > 0).map(({ promise }) => promise);
  expect(broken).toEqual([
    'acknowledged events are journalled',
    'read models equal their fold',
    'the ledger balances',
    'lengths trained equal lengths produced',
    'the same weights as undisturbed',
    'the same trees as undisturbed',
    'verify finds the record intact',
  ]);
  expect(expected.weights).toHaveLength(2);
});
