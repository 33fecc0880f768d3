import { afterAll, expect, test } from '@jest/globals';
import type { Fault } from '../infra/chaos/faults.ts';
import { openLaboratory } from '../infra/chaos/laboratory.ts';
import { ROLES } from '../infra/chaos/process-group.ts';
import { chaosPlan, trainDisturbed, trainUndisturbed } from '../infra/chaos/train-disturbed.ts';
import { describeWithKafka } from '../src/testing/kafka-describe.ts';
import { killRunning } from '../src/testing/worker-process.ts';

afterAll(killRunning);

describeWithKafka('a training over Kafka', () => {
  const given: readonly { readonly faults: readonly Fault[]; readonly subject: string }[] = [
    { faults: ['broker', 'restore'], subject: 'whose broker is killed and whose database is replaced by an older copy' },
    { faults: ['records-deleted'], subject: 'whose topics at last lose records' },
  ];

  test.each(given)('a training $subject reaches the weights of an undisturbed one', async ({ faults }) => {
    const laboratory = await openLaboratory({}); // a broker of its own: that of the test run is shared
    try {
      const plan = chaosPlan(9, 5);
      const quiet = await laboratory.platform('embedded');
      const expected = await trainUndisturbed(quiet, plan).finally(() => quiet.close());
      const platform = await laboratory.platform('kafka');
      try {
        const disturbance = { seed: 9, kills: 3, roles: ROLES, faults: ['kill', 'statement', ...faults] } as const;
        const { done, checks } = await trainDisturbed(platform, plan, expected, disturbance, platform.means);
        expect(done.map(({ fault }) => fault)).toEqual(expect.arrayContaining([...faults]));
        expect(checks.filter(({ broken }) => broken > 0)).toEqual([]);
      } finally {
        await killRunning();
        await platform.close();
      }
    } finally {
      await laboratory.close();
    }
  });
});
