import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Case, OWN_CASES } from './rl-catalogue-testing.ts';
import type { RlCheck } from './rl-vectors.ts';
import { CHECKS, runConformance } from './run-conformance.ts';

const CATALOGUE = fileURLToPath(new URL('fixtures/rl-catalogue.json', import.meta.url));
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rl-catalogue-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function judge(file: string, { algorithm, variant, inputs, expected }: Case): Promise<readonly string[]> {
  const path = join(folder, `${file}-own.json`);
  await writeFile(path, JSON.stringify({ cases: [{ id: 'own', algorithm, variant, inputs, expected, note: '' }] }));
  const judged = [];
  for await (const { status, detail } of runConformance(path)) judged.push(detail === '' ? status : `${status}: ${detail}`);
  return judged;
}

describe('the catalogue of the vectors of reinforcement learning', () => {
  test('every algorithm of it is known, and every variant that chooses a computation', async () => {
    const catalogue = JSON.parse(await readFile(CATALOGUE, 'utf8')) as [string, string, string][];
    const unknown = catalogue.filter(([file, algorithm, variant]) => {
      const check = CHECKS.find(({ fileName }) => fileName.test(file));
      const found = check && 'algorithms' in check ? (check as RlCheck).algorithms[algorithm] : undefined;
      return found === undefined || (typeof found !== 'function' && found.variants?.includes(variant) === false);
    });
    expect(catalogue).toHaveLength(104);
    expect(unknown).toEqual([]);
  });

  test('a variant that nobody wrote fails and names those that there are', async () => {
    const given = { algorithm: 'masked_var', variant: 'robust', inputs: {}, expected: { value: 1 } };
    expect(await judge('01-masked-statistics', given)).toEqual([
      'failed: masked_var has no variant "robust"; there are biased · unbiased · error',
    ]);
  });
});

describe('the variants of the catalogue that have no published case here', () => {
  test.each(OWN_CASES.map(([file, given]) => [`${given.algorithm}, ${given.variant}`, file, given] as const))(
    '%s equals the result of its formula',
    async (_, file, given) => {
      expect(await judge(file, given)).toEqual(['passed']);
    },
  );

  test.each(OWN_CASES.map(([file, given]) => [`${given.algorithm}, ${given.variant}`, file, given] as const))(
    '%s fails where a value of what is expected is another',
    async (_, file, given) => {
      const text = JSON.stringify(given.expected);
      const number = /(?<=[:[,])-?\d+(\.\d+)?(?=[\],}])/;
      const changed = number.test(text)
        ? text.replace(number, (found) => String(Number(found) + 1))
        : text.replace('search', 'find');
      const expected = JSON.parse(changed);
      expect(JSON.stringify(expected)).not.toBe(text);
      expect(await judge(file, { ...given, expected })).toEqual([expect.stringMatching(/^failed: /)]);
    },
  );
});
