import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { readLedgers } from '../projections/training-pool/read-ledger.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { pythonForTests } from '../testing/python.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

let platform: Platform & { readonly home: string };
beforeEach(async () => {
  platform = await openTestPlatform();
});
afterEach(async () => {
  await killRunning();
  await platform.close();
});

const found = await pythonForTests();
const python = found.kind === 'found' ? found.python : '';

(python === '' ? test.skip : test)(
  'the demo trains a tiny vision-language model on history images where a Python with torch is there',
  async () => {
    const sizes = ['--tasks', '12', '--rollouts', '1', '--deep-rollouts', '2'];
    const env = { ...environmentOf(platform), ESPALIER_PORT: '0', ESPALIER_PYTHON: python };
    const { code, stdout, stderr } = await runInProcess(['demo', '--exit', ...sizes], env);
    if (code !== 0) throw new Error(stderr);
    expect(stdout).toMatch(
      /was trained for 2 updates in .* \(torch .*\):\n {2}[1-9]\d* steps were shown a picture; demo-pictures-1 is at version 2/,
    );
    const { db } = platform.database;
    const [ledger] = await readLedgers(db, ['demo-pictures-1']);
    expect(ledger).toMatchObject({ produced: 8, trained: 8, rejected: {}, difference: 0 });
    expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  },
);
