import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runProjections } from '../projections/runner.ts';
import { environmentOf, settle } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { appendRecorded, recordBatches } from '../testing/record-batches.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';
import { openLeaseService } from '../usecases/train/open-lease-service.ts';

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

test('espalier abandon ends the next batch of a policy once, and explains why others cannot be abandoned', async () => {
  const builder = new EventBuilder('given up');
  const { batchIds } = recordBatches(builder, { policyId: 'given up', batches: 2 });
  await appendRecorded(platform.log, builder.events);
  const projector = await runProjections({ log: platform.log, database: platform.database });
  await settle(platform);
  const weights = createHash('sha256').update('w').digest('hex');
  await openLeaseService(platform).registerPolicy({ policyId: 'given up', backend: 'test', weights, kept: null });
  await settle(platform);
  await projector.close();
  const [first = '', second = ''] = batchIds;
  const abandon = (batch: string) =>
    runInProcess(['--json', 'abandon', batch, '--reason', 'no machine can hold it'], environmentOf(platform));

  const early = await abandon(second);
  expect([early.code, early.stdout]).toEqual([1, '']);
  expect(early.stderr).toContain('batch 0 comes before it');
  for (let i = 0; i < 2; i++) {
    const { code, stdout } = await abandon(first);
    expect([code, JSON.parse(stdout)]).toEqual([0, { kind: 'abandoned', batchId: first, ordinal: 0 }]);
  }
  const ledger = await runInProcess(['ledger', '--policy', 'given up'], environmentOf(platform));
  expect(ledger).toMatchObject({ code: 0, stdout: expect.stringMatching(/abandoned +2\n/) });
});
