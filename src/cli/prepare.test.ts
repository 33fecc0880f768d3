import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { runEspalier } from '../testing/worker-process.ts';

const FIXTURES = fileURLToPath(new URL('../usecases/datasets/prepare/fixtures', import.meta.url));
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-prepare-cli-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('espalier prepare', () => {
  test('prepare shows what was read, left out, drawn and written', async () => {
    const out = join(folder, 'hotpot');
    const args = [
      'prepare',
      'hotpotqa',
      '--from',
      join(FIXTURES, 'hotpotqa'),
      '--out',
      out,
      '--train',
      '6',
      '--test',
      '2',
      '--seed',
      '3',
    ];
    const { stdout, stderr, code } = await runEspalier(args, {});
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [read, drawn, ...files] = stdout.trimEnd().split('\n');
    expect(read).toBe(
      'hotpotqa: 21 rows of 4 files; left out: 1 without an answer, 5 asked twice, 1 for training that the test side asks too',
    );
    expect(drawn).toBe('drawn with seed 3: 6 of 9 to train on, 2 of 5 to test on');
    expect(files.map((line) => line.split(/ bytes|, \d/)[0])).toEqual([
      `${out}/tasks.jsonl: 8 rows`,
      `${out}/train.parquet: 6 rows`,
      `${out}/test.parquet: 2 rows`,
      `${out}/corpus/passages.jsonl: 9 rows`,
    ]);
    expect((await readdir(out)).sort()).toEqual(['corpus', 'manifest.json', 'tasks.jsonl', 'test.parquet', 'train.parquet']);
  });

  test('prepare prints its manifest as JSON, and skips broken rows on request', async () => {
    const out = join(folder, 'out');
    const file = join(FIXTURES, 'hotpotqa', 'hotpot_dev_distractor_v1.json');
    const args = ['--json', 'prepare', 'gsm8k', '--from', file, '--out', out, '--skip-bad'];
    const refused = await runEspalier(args.slice(0, -1), {});
    expect(refused.code).toBe(1);
    expect(refused.stderr).toBe(
      `espalier: ${file} line 1, row 0: answer does not end in "#### " and a number; nothing was written. Rows like this can be left out with --skip-bad\n`,
    );
    const none = await runEspalier(args, {});
    expect(none.stderr).toContain('of 5 rows none is a question with an answer; are these files of gsm8k?');
    expect(await readdir(folder)).toEqual([]);
    const taken = await runEspalier(['--json', 'prepare', 'gsm8k', '--from', join(FIXTURES, 'gsm8k'), '--out', out], {});
    expect(JSON.parse(taken.stdout)).toEqual(JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8')));
  });

  test('an unknown data set is a usage error', async () => {
    const { code, stderr } = await runEspalier(['prepare', 'squad', '--from', folder, '--out', join(folder, 'out')], {});
    expect(code).toBe(2);
    expect(stderr).toContain('Allowed choices are hotpotqa, musique, 2wiki, gsm8k.');
  });
});
