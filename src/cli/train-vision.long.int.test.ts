import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { imageId } from '../images/image-id.ts';
import { decodePng } from '../images/png.ts';
import type { Platform } from '../platform/open-platform.ts';
import { readLedgers } from '../projections/training-pool/read-ledger.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { pythonForTests } from '../testing/python.ts';
import { killRunning, runInProcess, startProcess } from '../testing/worker-process.ts';
import { writeTinyVision } from '../training/backends/torch/write-tiny-vision.ts';

const found = await pythonForTests();
const python = found.kind === 'found' ? found.python : '';

let platform: Platform & { readonly home: string };
beforeEach(async () => {
  platform = await openTestPlatform();
});
afterEach(async () => {
  await killRunning();
  await platform.close();
});

(found.kind === 'found' ? test : test.skip)(
  'a vision-language model whose trainer is killed with -9 goes on, and its exports hold the pictures that it was shown',
  async () => {
    const env = { ...environmentOf(platform), ESPALIER_PYTHON: python };
    const model = join(platform.home, 'tiny-vision');
    await writeTinyVision(python, model);
    const command = [
      ...['train', '--policy', 'sees', '--backend', 'torch', '--model', model, '--environment', 'search-qa', '--prompt', 'image'],
      ...['--updates', '2', '--groups', '2', '--group', '2', '--max-steps', '3', '--max-tokens', '8', '--test-tasks', '0'],
      ...['--keep-zero-variance', '--entropy', '0.01', '--learning-rate', '0.001'],
    ];
    const trainer = startProcess('src/cli/main.ts', command, env);
    await trainer.saying(/version 1 of 2/, 300_000);
    trainer.kill('SIGKILL'); // with it its training process and its model server
    await trainer.ended;
    const again = await runInProcess([...command, '--resume'], env);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('policy sees is at version 2') });
    const { db } = platform.database;
    const [ledger] = await readLedgers(db, ['sees']);
    expect(ledger).toMatchObject({ trained: 8, difference: 0 });

    const run = await db.selectFrom('trainingRuns').select('runId').where('policyId', '=', 'sees').executeTakeFirstOrThrow();
    const out = join(platform.home, 'rows.jsonl');
    const exported = await runInProcess(['export', '--run', run.runId, '--format', 'trl', '--out', out], env);
    expect(exported).toMatchObject({ code: 0 });
    const shown = await db.selectFrom('historyImages').select('imageId').where('runId', '=', run.runId).execute();
    const files = await readdir(`${out}.images`);
    expect(new Set(files)).toEqual(new Set(shown.map((each) => `${each.imageId}.png`)));
    for (const file of files) {
      const { width, height, rgb } = await decodePng(await readFile(join(`${out}.images`, file)));
      expect(`${imageId(width, height, rgb)}.png`).toBe(file);
    }
  },
  600_000,
);
