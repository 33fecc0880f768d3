import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { environmentOf } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { appendRecorded } from '../testing/record-batches.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';
import { successByDepth } from './demo/report.ts';

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
const builder = new EventBuilder('tables');
const run = builder.run('measured');

beforeAll(async () => {
  const tree = builder.tree(run, 'task');
  const ends = [
    { outcome: 'terminated', success: true },
    { outcome: 'truncated', success: null },
    { outcome: 'failed', success: null },
    { outcome: 'cancelled', success: null },
  ] as const;
  for (const [ordinal, end] of ends.entries()) {
    const rolloutId = builder.rollout(tree, ordinal);
    const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, {});
    builder.finishRollout(tree, rolloutId, leaf, { steps: 1, ...end });
  }
  builder.rollout(tree, ends.length); // goes on
  platform = await openTestPlatform();
  await appendRecorded(platform.log, builder.events);
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

test('the tables of the command line show one success rate: that of what is finished, cut off and failed included', async () => {
  const read = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await runInProcess(args, environmentOf(platform));
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  };
  for (const by of ['run', 'depth', 'kind', 'task']) {
    const [group] = JSON.parse(await read('--json', 'aggregate', '--run', run, '--by', by));
    expect({ by, ...group.rollouts }).toMatchObject({ by, rollouts: 5, finished: 4, successes: 1, successRate: 0.25 });
  }
  expect(await read('aggregate', '--run', run)).toMatch(/ 4 +25\.0% /);
  const metrics = JSON.parse(await read('--json', 'published-metrics', run));
  expect(metrics).toContainEqual({ name: 'episode/success_rate', value: 0.25, count: 4 });
  expect(String(await successByDepth(platform.database.db, run))).toMatch(/ 4 +25% /);
});
