import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FAULT_NAMES, whyNot } from '../infra/chaos/faults.ts';
import { type Laboratory, openLaboratory } from '../infra/chaos/laboratory.ts';
import { ROLES } from '../infra/chaos/process-group.ts';
import { chaosPlan, trainDisturbed, trainUndisturbed } from '../infra/chaos/train-disturbed.ts';
import { killRunning } from '../src/testing/worker-process.ts';

let laboratory: Laboratory;
beforeAll(async () => {
  laboratory = await openLaboratory({}); // servers of its own: those of the test run are shared
});
afterAll(async () => {
  await killRunning();
  await laboratory.close();
});

test('a training over the embedded log keeps every promise of the record when its server is killed and its disk is full', async () => {
  const plan = chaosPlan(2, 4);
  const quiet = await laboratory.platform('embedded');
  const expected = await trainUndisturbed(quiet, plan).finally(() => quiet.close());
  const platform = await laboratory.platform('embedded');
  try {
    const faults = FAULT_NAMES.filter((fault) => whyNot(fault, 'embedded', platform.means) === null);
    // a disk is mounted by root alone
    expect(FAULT_NAMES.filter((fault) => !faults.includes(fault)).filter((fault) => fault !== 'disk')).toEqual([
      'broker',
      'restore',
      'records-deleted',
    ]);
    const disturbance = { seed: 2, kills: 2, roles: ROLES, faults };
    const { done, checks } = await trainDisturbed(platform, plan, expected, disturbance, platform.means);
    const heavy = faults.filter((fault) => fault === 'postmaster' || fault === 'disk');
    expect(heavy.filter((fault) => !done.some((one) => one.fault === fault))).toEqual([]);
    expect(checks.filter(({ broken }) => broken > 0)).toEqual([]);
  } finally {
    await platform.close();
  }
}, 400_000); // 30 s on two quiet cores
