import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

let platform: Platform & { readonly home: string };
beforeEach(async () => {
  platform = await openTestPlatform();
});
afterEach(async () => {
  await killRunning();
  await platform.close();
});

test('the crash demo kills trainer and projector midway, and shows a ledger that balances and a run that replays equal', async () => {
  const { code, stdout, stderr } = await runInProcess(['demo', '--crash'], environmentOf(platform));
  if (code !== 0) throw new Error(stderr);
  const kills = stdout.match(/kill -9 .*/g) ?? [];
  expect(kills.map((line) => line.match(/(?<= )(train|project|collect|batch)\b/g))).toEqual([
    ['train'],
    ['project'],
    ['train', 'project'],
    ['train', 'project', 'collect', 'batch'],
  ]);
  const [, pids = '', ...again] = /workers: (.*);/.exec(stdout) ?? [];
  expect(again).toEqual([]);
  expect(kills[0]).toContain(/train \(pid \d+\)/.exec(pids)?.[0]); // the very process that was started first
  expect(stdout).toMatch(/^6 updates, 8 kills, /m);
  expect(stdout).toMatch(/^difference +0$/m);
  expect(stdout.match(/^ {2}equal: .*/gm)).toEqual([
    expect.stringMatching(/^ {2}equal: environment, [1-9]\d{3} compared$/),
    '  equal: training, 7 versions compared',
    expect.stringMatching(/^ {2}equal: projections, [1-9]\d compared$/),
  ]);
  const { db } = platform.database;
  const acked = await db.selectFrom('batchAcks').select('version').orderBy('version').execute();
  expect(acked.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6]);
});
