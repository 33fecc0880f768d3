import { afterAll, expect, test } from '@jest/globals';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

afterAll(killRunning);

test('`config` prints what is set without secrets, and where it comes from', async () => {
  const { code, stdout, stderr } = await runEspalier(['config'], { DATABASE_URL: 'postgres://u:hidden@h/d', ESPALIER_PORT: '9' });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^DATABASE_URL +\(secret\) +variable$/m);
  expect(stdout).toMatch(/^ESPALIER_PORT +9 +variable$/m);
  expect(stdout).not.toMatch(/hidden|ESPALIER_HOST/);
  const all = await runEspalier(['config', '--all'], {});
  expect(all.stdout).toMatch(/^ESPALIER_HOST +127\.0\.0\.1 +default$/m);
});

test('`config` ends with 1, names every wrong setting, and the variables that nothing reads', async () => {
  const env = { ESPALIER_PORT: 'x', ESPALIER_DRAIN_MS: 'x', ESPALIER_PROBE_PROT: '1' };
  const { code, stderr } = await runEspalier(['config'], env);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^espalier: ESPALIER_PORT must be a whole number/m);
  expect(stderr).toMatch(/^espalier: ESPALIER_DRAIN_MS must be a whole number/m);
  expect(stderr).toMatch(/^espalier: nothing reads ESPALIER_PROBE_PROT; did you mean ESPALIER_PROBE_PORT\?$/m);
  const { faults, unknown } = JSON.parse((await runEspalier(['--json', 'config'], env)).stdout) as Record<
    string,
    readonly unknown[]
  >;
  expect([faults?.length, unknown]).toEqual([2, ['ESPALIER_PROBE_PROT']]);
});
