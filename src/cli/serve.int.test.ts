import { afterAll, expect, test } from '@jest/globals';
import { environmentOf } from '../testing/crashing-run.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { killRunning, runEspalier, startRole } from '../testing/worker-process.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'none' });
afterAll(killRunning);

test('roles that share a process are at work together, and end with it', async () => {
  const both = startRole('relay', environmentOf(platform), 'project', 'relay');
  await Promise.all([both.saying(/"message":"relaying","role":"relay"/), both.saying(/"message":"projecting","role":"project"/)]);
  both.kill('SIGTERM');
  expect(await both.ended).toBe(0);
  expect(both.stderr().match(/"relaying"/g)).toHaveLength(1);
});

test.each([
  [['nothing'], /no role "nothing"; there are project, api, relay, batch, collect, train, policy/],
  [['relay', 'train'], /the role train has a process of its own/],
  [['collect'], /the role collect takes PLAN.json/],
  [['train', 'policy', 'name', 'relay'], /the role train takes POLICY \[NAME\], and no other role is in its process/],
])('`serve` with %j is refused as a wrong command', async (words, reason) => {
  const { code, stderr } = await runEspalier(['serve', ...words], {});
  expect([code, stderr]).toEqual([2, expect.stringMatching(reason)]);
});

test('the help of `serve` lists every role with what it does', async () => {
  const { code, stdout } = await runEspalier(['serve', '--help'], {});
  expect(code).toBe(0);
  for (const line of [/^ {2}batch +plans training batches/m, /^ {2}train POLICY \[NAME\] +trains a declared policy/m])
    expect(stdout).toMatch(line);
});
