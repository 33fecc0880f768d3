import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { catalogue } from '../events/catalogue.ts';
import { encode } from '../events/codec.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { Story } from '../testing/story.ts';
import { tellBatch, tellGroup, tellLineage } from '../testing/tell-training.ts';
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

async function append(story: Story): Promise<void> {
  const records = story.events.map((event) => ({ topic: catalogue[event.type].topic, key: event.stream, value: encode(event) }));
  await platform.log.append(records);
}

test('ledger shows an account whose lines add up, and fails when a batch names samples that nobody produced', async () => {
  const story = new Story('counted');
  tellLineage(story, POLICY);
  const runId = story.run('run', { config: { training: { policyId: POLICY, channel: 'train' } } });
  const group = tellGroup(story, runId, 'planned', { policyId: POLICY, rewards: [0, 1] });
  tellGroup(story, runId, 'ready', { policyId: POLICY, rewards: [0, 1, 1] });
  const batch = tellBatch(story, POLICY, [group]);
  await append(story);
  const shown = await runEspalier(['ledger'], environmentOf(platform));
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  const lines = shown.stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));
  expect(lines[0]).toEqual([POLICY, 'samples']);
  expect(Object.fromEntries(lines.slice(2))).toEqual({
    ...{ produced: '5', trained: '0', 'owed: waits for its group': '0', 'owed: ready': '3', 'owed: planned': '2' },
    ...{ 'owed: leased': '0', difference: '0' },
  });

  const invented = new Story('invented');
  tellBatch(invented, POLICY, [{ treeId: invented.id('tree'), rolloutIds: [invented.id('rollout')] }], batch);
  await append(invented);
  const wrong = await runEspalier(['--json', 'ledger', '--policy', POLICY], environmentOf(platform));
  expect(wrong.code).toBe(1);
  expect(JSON.parse(wrong.stdout)).toMatchObject([{ produced: 5, difference: 0, ahead: 1 }]);

  const nobody = await runEspalier(['ledger', '--policy', 'nobody'], environmentOf(platform));
  expect(nobody).toMatchObject({ code: 1, stdout: '' });
  expect(nobody.stderr).toContain('nobody trains a policy nobody');
}, 60_000);
