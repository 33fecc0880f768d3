import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ConformanceResult, runConformance } from './run-conformance.ts';

/** The published vectors lie next to the functions that they cover. */
const FOLDERS = ['random', 'search', 'revision'].map((room) =>
  fileURLToPath(new URL(`../domain/${room}/fixtures`, import.meta.url)),
);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-r-vectors-'));
  for (const each of FOLDERS) await cp(each, folder, { recursive: true });
});
afterAll(() => rm(folder, { recursive: true }));

async function run(path: string): Promise<readonly ConformanceResult[]> {
  const results = [];
  for await (const result of runConformance(path)) results.push(result);
  return results;
}

describe('the Agent-R vectors', () => {
  test('every case of search, draws, pairing and revision passes', async () => {
    const results = await run(folder);
    expect(results.filter(({ status }) => status !== 'passed')).toEqual([]);
    const counts = new Map<string, number>();
    for (const { file } of results) counts.set(file, (counts.get(file) ?? 0) + 1);
    expect(Object.fromEntries(counts)).toEqual({
      '01_uct.json': 8,
      '02_best_child.json': 6,
      '03_backprop.json': 4,
      '04_python_rng.json': 16,
      '05_pairs.json': 26,
      '05_trees.json': 10,
      '06_revision_rows.json': 11,
      '07_verdict_parse.json': 10,
      '08_action_parse.json': 14,
      '09_mcts_search.json': 5,
      '09_tree_on_disk_example.json': 1,
      '10_context_truncation.json': 7,
      '11_xtuner_rewrite.json': 1,
    });
  });

  test.each([
    ['01_uct.json', '1.2081386527894244', '1.2081386527'],
    ['02_best_child.json', '"candidatePool": [\n    1\n', '"candidatePool": [\n    0\n'],
    ['03_backprop.json', '"value": 1.75', '"value": 1.5'],
    ['04_python_rng.json', '"shuffled": [\n    1,\n    0', '"shuffled": [\n    0,\n    1'],
    ['05_pairs.json', '"treeSkipped": true', '"treeSkipped": false'],
    ['05_trees.json', '"obs s1"\n     ]\n    ]', '"obs s2"\n     ]\n    ]'],
    ['06_revision_rows.json', '"loss": false', '"loss": true'],
    [
      '07_verdict_parse.json',
      '"judgement": "not good",\n   "continues": true',
      '"judgement": "not good",\n   "continues": false',
    ],
    ['08_action_parse.json', '"Thought a', '"Thought: a'],
    ['09_mcts_search.json', '"pick": 1', '"pick": 0'],
    ['09_tree_on_disk_example.json', '"visits": 7', '"visits": 8'],
    ['10_context_truncation.json', '"messageLimit": 7', '"messageLimit": 9'],
    ['11_xtuner_rewrite.json', '"output": "Ok."', '"output": "Ok!"'],
  ])('a changed value in %s fails the check', async (name, from, to) => {
    const text = await readFile(join(folder, name), 'utf8');
    expect(text).toContain(from);
    const changed = await mkdtemp(join(tmpdir(), 'agent-r-changed-'));
    try {
      await cp(folder, changed, { recursive: true });
      await writeFile(join(changed, name), text.replace(from, to));
      const failures = (await run(changed)).filter(({ status }) => status === 'failed');
      expect(failures.map(({ file }) => file)).toContain(name);
    } finally {
      await rm(changed, { recursive: true });
    }
  });

  test('the exceptions of the published program are skipped with the reason', async () => {
    const path = join(folder, '14_published_exceptions.json');
    await writeFile(path, '{}');
    expect(await run(path)).toEqual([
      expect.objectContaining({ status: 'skipped', detail: expect.stringContaining('exceptions') }),
    ]);
  });
});
