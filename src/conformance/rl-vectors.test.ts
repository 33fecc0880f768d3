import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ConformanceResult, runConformance } from './run-conformance.ts';

/** The published vectors lie next to the functions that they cover; the other files there are not vectors. */
const FIXTURES = fileURLToPath(new URL('../domain/training/fixtures', import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rl-vectors-'));
  await cp(FIXTURES, folder, { recursive: true, filter: (path) => !/(difflib-ratios|balanced-partitions)\.json$/.test(path) });
});
afterAll(() => rm(folder, { recursive: true }));

async function run(path: string): Promise<readonly ConformanceResult[]> {
  const results = [];
  for await (const result of runConformance(path)) results.push(result);
  return results;
}

describe('the reinforcement learning vectors', () => {
  test('every case passes within 1e-9', async () => {
    const results = await run(folder);
    expect(results.filter(({ status }) => status !== 'passed')).toEqual([]);
    const counts = new Map<string, number>();
    for (const { file } of results) counts.set(file, (counts.get(file) ?? 0) + 1);
    expect(Object.fromEntries(counts)).toEqual({
      '01-masked-statistics.json': 8,
      '02-gae.json': 9,
      '03-group-baselines.json': 14,
      '04-reinforce.json': 8,
      '05-gigpo.json': 5,
      '06-policy-loss.json': 8,
      '07-value-kl-entropy.json': 10,
      '08-rollout-correction.json': 8,
      '12-batching.json': 6,
    });
  });

  test.each([
    ['01-masked-statistics.json', '1.0999999978', '1.1000000978'],
    ['01-masked-statistics.json', 'mask sum is one', 'mask sum is two'],
    ['02-gae.json', '1.1598674371256437', '1.1598674271256437'],
    ['03-group-baselines.json', '1.0208333333333335', '1.0208333433333335'],
    ['04-reinforce.json', '"step_returns": [\n     0.9', '"step_returns": [\n     0.8'],
    ['05-gigpo.json', '0.9782608695652174', '0.9782608795652174'],
    ['06-policy-loss.json', '"NaN"', '0.5'],
    ['06-policy-loss.json', '0.19730275234071937', '0.19730276234071937'],
    ['07-value-kl-entropy.json', '0.0010211314341755174', '0.0010212314341755174'],
    ['08-rollout-correction.json', '0.921587660124672', '0.921587690124672'],
    ['12-batching.json', '"sample_mask": [\n     true', '"sample_mask": [\n     false'],
  ])('a value changed in %s from %j fails the check', async (name, from, to) => {
    const text = await readFile(join(folder, name), 'utf8');
    expect(text).toContain(from);
    const path = join(await mkdtemp(join(tmpdir(), 'rl-changed-')), name);
    await writeFile(path, text.replace(from, to));
    expect((await run(path)).filter(({ status }) => status === 'failed')).toHaveLength(1);
    await rm(join(path, '..'), { recursive: true });
  });

  test('a name that is expected but not computed fails, and an unimplemented algorithm is skipped by name', async () => {
    const text = await readFile(join(folder, '12-batching.json'), 'utf8');
    const path = join(await mkdtemp(join(tmpdir(), 'rl-changed-')), '12-batching.json');
    await writeFile(path, text.replace('"sums"', '"totals"').replace('"sequence_workload"', '"sequence_energy"'));
    expect((await run(path)).filter(({ status }) => status !== 'passed')).toEqual([
      expect.objectContaining({ case: 'workload', status: 'skipped', detail: 'not implemented yet: sequence_energy' }),
      expect.objectContaining({ case: 'seqlen-balance-even', status: 'failed', detail: expect.stringContaining('totals') }),
    ]);
    await rm(join(path, '..'), { recursive: true });
  });
});
