import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type ConformanceResult, conformanceMain, runConformance } from './run-conformance.ts';

const TEXTCRAFT = fileURLToPath(new URL('../environments/textcraft/fixtures', import.meta.url));
const REACT = fileURLToPath(new URL('../environments/fixtures/16_parse_react.json', import.meta.url));

let scratch: string;
let folder: string;
let next = 0;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'conformance-'));
});
beforeEach(async () => {
  folder = join(scratch, String(next++));
  await mkdir(folder);
});
afterAll(() => rm(scratch, { recursive: true }));

async function run(path: string): Promise<readonly ConformanceResult[]> {
  const results = [];
  for await (const result of runConformance(path)) results.push(result);
  return results;
}

async function copyChanged(name: string, change: (text: string) => string): Promise<void> {
  await writeFile(join(folder, name), change(await readFile(join(TEXTCRAFT, name), 'utf8')));
}

const named = (results: readonly ConformanceResult[], status: ConformanceResult['status']) =>
  results.filter((result) => result.status === status);

describe('runConformance', () => {
  test('strict GSM8K cases ignore commas and read no number without ####', async () => {
    const pairs = [
      ['Work... #### 1,234', '1234'],
      ['Work... #### 1,234', '1,234'],
      ['The result is 42', '42'],
    ];
    const given = (variant: string, value: number[]) => ({
      id: variant,
      algorithm: 'gsm8k_verl',
      variant,
      inputs: { pairs },
      expected: { value },
      note: '',
    });
    const cases = [given('strict', [1, 0, 0]), given('flexible', [0, 1, 1]), given('lenient', [1, 1, 1])];
    await writeFile(join(folder, '10-rule-rewards-strict.json'), JSON.stringify({ cases }));
    const results = await run(folder);
    expect(results.map(({ case: name, status }) => [name, status])).toEqual([
      ['strict', 'passed'],
      ['flexible', 'passed'],
      ['lenient', 'failed'],
    ]);
  });

  test('a root, which has no parent, is scored by its value alone', async () => {
    const cases = [
      { value: 3, visits: 4, parentVisits: null, uct: 0.75 },
      { value: 3, visits: 4, uct: 0.75 },
      { value: 3, visits: 4, parentVisits: 0, uct: 0.75 },
      { value: 0, visits: 0, parentVisits: null, uct: 0 },
      { value: 3, visits: 4, parentVisits: null, uct: 0.76 },
    ];
    await writeFile(join(folder, '01_uct_root.json'), JSON.stringify({ coef: 0.25, cases }));
    expect((await run(folder)).map(({ status }) => status)).toEqual(['passed', 'passed', 'passed', 'passed', 'failed']);
  });

  test('every published TextCraft and ReAct vector passes, including the leak of the old server', async () => {
    await cp(TEXTCRAFT, join(folder, 'agent-r'), { recursive: true, filter: (path) => !path.endsWith('.ts') });
    await cp(REACT, join(folder, 'agent-r', '16_parse_react.json'));
    const results = await run(folder);
    expect(results.filter(({ status }) => status !== 'passed')).toEqual([]);
    expect(results).toHaveLength(6 + 4 + 120 + 5);
    expect(new Set(results.map(({ file }) => file))).toEqual(
      new Set(
        ['reset', 'sessions', 'world'].map((kind) => `agent-r/12_textcraft_${kind}.json`).concat('agent-r/16_parse_react.json'),
      ),
    );
  });

  test('a leak of another size or order fails the check', async () => {
    await copyChanged('12_textcraft_world.json', (text) => {
      const old = text.indexOf('"traversalOrder"', text.indexOf('"minecraft:gear": {\n     "index"'));
      return text.slice(0, old) + text.slice(old).replace('craft 4 rod using 2 beams', 'craft 4 birch beam using 1 birch trunk');
    });
    await copyChanged('12_textcraft_reset.json', (text) => text.replace('5888', '5889'));
    expect(named(await run(folder), 'failed').map(({ case: name }) => name)).toEqual([
      'oldRevisionRecipeLeakOverResets',
      'old.perGoal.minecraft:gear.traversalOrder',
    ]);
  });

  test('a changed expectation fails and names the case, the expected and the actual value', async () => {
    await copyChanged('12_textcraft_world.json', (text) => text.replace('"minecraft:gear": 3,', '"minecraft:gear": 2,'));
    await copyChanged('12_textcraft_sessions.json', (text) => text.replace('Got 2 birch trunk', 'Took 2 birch trunk'));
    const failures = named(await run(folder), 'failed');
    expect(failures.map(({ file, case: name }) => [file, name])).toEqual([
      ['12_textcraft_sessions.json', 'S1_goal_chain, step 2 (get 2 birch trunk)'],
      ['12_textcraft_world.json', 'old.minDepth'],
    ]);
    expect(failures[0]?.detail).toMatch(/^expected .*Took 2.*, got .*Got 2/);
  });

  test('sessions need the world file next to them', async () => {
    await copyChanged('12_textcraft_sessions.json', (text) => text);
    expect(await run(folder)).toEqual([
      {
        file: '12_textcraft_sessions.json',
        case: '12_textcraft_sessions.json',
        status: 'failed',
        detail: expect.stringContaining('12_textcraft_world.json'),
      },
    ]);
  });

  test('a file without a check is skipped with the reason', async () => {
    await writeFile(join(folder, '99_unheard_of.json'), '{}');
    await writeFile(join(folder, 'README.md'), '');
    expect(await run(folder)).toEqual([
      {
        file: '99_unheard_of.json',
        case: '99_unheard_of.json',
        status: 'skipped',
        detail: expect.stringContaining('not implemented yet'),
      },
      { file: 'README.md', case: 'README.md', status: 'skipped', detail: expect.stringContaining('no vector file') },
    ]);
  });

  test.each([
    ['no JSON', '{"cases": ['],
    ['an empty file', ''],
    ['another shape', '{"cases": [{"input": 3}]}'],
    ['no case', '{"cases": []}'],
    ['null', 'null'],
  ])('a malformed file (%s) is one failed case that names it', async (_what, text) => {
    await writeFile(join(folder, '16_parse_react.json'), text);
    const results = await run(folder);
    expect(results).toEqual([
      { file: '16_parse_react.json', case: '16_parse_react.json', status: 'failed', detail: expect.stringMatching(/\S/) },
    ]);
  });

  test('a malformed recipe or a session of another shape fails and does not stop the other files', async () => {
    await copyChanged('12_textcraft_world.json', (text) => text.replace('"ingredients"', '"ingrediants"'));
    await copyChanged('12_textcraft_sessions.json', (text) => text);
    await cp(REACT, join(folder, '16_parse_react.json'));
    const results = await run(folder);
    expect(named(results, 'failed').map(({ detail }) => detail)).toEqual([
      expect.stringContaining('a_beam_birch.json'),
      expect.stringContaining('a_beam_birch.json'),
    ]);
    expect(named(results, 'passed')).toHaveLength(5);
  });

  test('a single file is accepted in place of a folder', async () => {
    expect((await run(REACT)).map(({ file, status }) => [file, status])).toEqual(
      Array.from({ length: 5 }, () => ['16_parse_react.json', 'passed']),
    );
  });

  test('a folder that cannot be read is an error', async () => {
    await expect(run(join(folder, 'nowhere'))).rejects.toThrow('nowhere');
  });
});

describe('conformanceMain', () => {
  test('conformanceMain prints failures and skips by case, passes by file, and the counts at the end', async () => {
    await cp(REACT, join(folder, '16_parse_react.json'));
    await writeFile(join(folder, '17_parse.json'), '{}');
    await writeFile(join(folder, '16_parse_react_2.json'), '{');
    const lines: string[] = [];
    expect(await conformanceMain(folder, (line) => lines.push(line))).toEqual({ passed: 5, failed: 1, skipped: 1 });
    expect(lines).toEqual([
      'passed   16_parse_react.json: 5',
      expect.stringMatching(/^failed {3}16_parse_react_2\.json: 16_parse_react_2\.json is no JSON/),
      'skipped  17_parse.json: not implemented yet: no check for files of this name',
      '5 passed, 1 failed, 1 skipped',
    ]);
  });
});
