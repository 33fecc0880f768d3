import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { catalogue } from '../events/catalogue.ts';
import { encode } from '../events/codec.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { recordBatch, recordGroup, recordLineage } from '../testing/record-training.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

const POLICY = 'linear:counted';
let platform: Awaited<ReturnType<typeof openTestPlatform>>;
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

async function append(builder: EventBuilder): Promise<void> {
  const records = builder.events.map((event) => ({
    topic: catalogue[event.type].topic,
    key: event.stream,
    value: encode(event),
  }));
  await platform.log.append(records);
}

test('ledger shows an account whose lines add up, and fails when a batch names samples that nobody produced', async () => {
  const builder = new EventBuilder('counted');
  recordLineage(builder, POLICY);
  const runId = builder.run('run', { config: { training: { policyId: POLICY, channel: 'train' } } });
  const group = recordGroup(builder, runId, 'planned', { policyId: POLICY, rewards: [0, 1] });
  recordGroup(builder, runId, 'ready', { policyId: POLICY, rewards: [0, 1, 1] });
  const batch = recordBatch(builder, POLICY, [group]);
  await append(builder);
  const shown = await runEspalier(['ledger'], environmentOf(platform));
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  const lines = shown.stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));
  expect(lines[0]).toEqual([POLICY, 'samples']);
  expect(Object.fromEntries(lines.slice(2))).toEqual({
    produced: '5',
    trained: '0',
    'owed: waits for its group': '0',
    'owed: ready': '3',
    'owed: planned': '2',
    'owed: leased': '0',
    difference: '0',
  });

  const invented = new EventBuilder('invented');
  recordBatch(invented, POLICY, [{ treeId: invented.id('tree'), rolloutIds: [invented.id('rollout')] }], batch);
  await append(invented);
  const wrong = await runEspalier(['--json', 'ledger', '--policy', POLICY], environmentOf(platform));
  expect(wrong.code).toBe(1);
  expect(JSON.parse(wrong.stdout)).toMatchObject([{ produced: 5, difference: 0, ahead: 1 }]);

  const nobody = await runEspalier(['ledger', '--policy', 'nobody'], environmentOf(platform));
  expect(nobody).toMatchObject({ code: 1, stdout: '' });
  expect(nobody.stderr).toContain('nobody trains a policy nobody');
});
