import { afterEach, expect, test } from '@jest/globals';
import { ROLES } from '../infra/chaos/process-group.ts';
import { chaosPlan, trainDisturbed, trainUndisturbed } from '../infra/chaos/train-disturbed.ts';
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

// The long form: npm run chaos -- --kills 1000.
test('a training with processes killed and paused at seeded points reaches the weights of an undisturbed one and keeps every promise', async () => {
  const plan = chaosPlan(7, 5);
  const expected = await trainUndisturbed(await opened(), plan);
  expect(expected.weights.length).toBe(plan.updates + 1);
  const disturbance = { seed: 7, kills: 4, roles: ROLES, faults: ['kill', 'pause'] } as const;
  const { done, checks } = await trainDisturbed(await opened(), plan, expected, disturbance);
  expect(done.filter(({ fault }) => fault === 'kill').length).toBeGreaterThanOrEqual(2);
  expect(checks.filter(({ broken }) => broken > 0)).toEqual([]);
  expect(checks.length).toBe(11);
});
