import { afterEach, expect, test } from '@jest/globals';
import { chaosPlan } from '../infra/chaos/chaos-plan.ts';
import { ROLES } from '../infra/chaos/crew.ts';
import { trainDisturbed, trainUndisturbed } from '../infra/chaos/train-disturbed.ts';
import { kafkaForTests } from '../src/testing/kafka.ts';
import { describeWithKafka } from '../src/testing/kafka-describe.ts';
import { openTestPlatform } from '../src/testing/open-test-platform.ts';
import { killRunning } from '../src/testing/worker-process.ts';

type Home = Awaited<ReturnType<typeof openTestPlatform>>;
const open: Home[] = [];
afterEach(async () => {
  await killRunning();
  for (const platform of open.splice(0)) await platform.close();
});
async function opened(brokers?: readonly string[]): Promise<Home> {
  const platform = await openTestPlatform(brokers);
  open.push(platform);
  return platform;
}

describeWithKafka('a training over Kafka', () => {
  test('whose processes are killed at seeded points comes to the weights of an undisturbed one over the embedded log', async () => {
    const plan = chaosPlan(9, 5);
    const expected = await trainUndisturbed(await opened(), plan);
    const platform = await opened((await kafkaForTests()).brokers);
    const disturbance = { seed: 9, kills: 3, roles: ROLES, deeds: ['kill'] } as const;
    const { done, checks } = await trainDisturbed(platform, plan, expected, disturbance);
    expect(done.length).toBeGreaterThanOrEqual(2);
    expect(checks.filter(({ broken }) => broken > 0)).toEqual([]);
  }, 240_000);
});
