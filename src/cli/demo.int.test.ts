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

/** What a demo of these sizes says, without the ids, times, places and drawn reflections that differ from one to the next. */
async function shown(): Promise<string> {
  const sizes = ['--tasks', '12', '--rollouts', '1', '--deep-rollouts', '2'];
  const env = { ...environmentOf(platform), ESPALIER_PORT: '0', ESPALIER_PYTHON: 'no-python-of-this-name' };
  const { code, stdout, stderr } = await runInProcess(['demo', '--exit', ...sizes], env);
  if (code !== 0) throw new Error(stderr);
  return stdout
    .replaceAll(/“[^”]*”/g, '“…”')
    .replaceAll(/\d+ records drawn, \d+ taken/g, '…') // the second demo of a home finds them all drawn
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replaceAll(/\d+\.\d s|\(\d+\/s\)|queryable \d+ ms|[\d,]+ bytes, sha256 \w+|127\.0\.0\.1:\d+/g, '…');
}

test('the demo shows a search with visits and values and a verified revision, and repeats itself for the same seed', async () => {
  const first = await shown();
  expect(first).toMatch(/^● Goal: craft .*\. {2}\d+ visits, value 0\.\d\d$/m);
  expect(first).toMatch(/executed, [1-9]\d* held and \d+ did not\.\nThe shortest that held/);
  expect(first).toMatch(/vision tokens in place of \d+ as text \((?:[1-9]\d|\d) % saved/);
  expect(first).toMatch(
    /no-python-of-this-name has no torch .*\. To get it:\n.*pip install -r python\/requirements\.txt\n {2}ESPALIER_PYTHON=/,
  );
  expect(first).toMatch(/before \d+ % \(.*\), after \d+ % \(/);
  expect(first).toMatch(/^difference +0$/m);
  const [, revision = ''] = first.split('The shortest that held');
  expect(revision).toMatch(/^.{34} {2}· \S/m); // a step of the bad trajectory that is kept
  expect(revision).toMatch(/^ {36}✓ “/m); // the reflection
  expect(await shown()).toBe(first);
  const { db } = platform.database;
  expect(await db.selectFrom('anomalies').selectAll().execute()).toEqual([]);
  expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
});
