import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runConformance } from './run-conformance.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentocr-vectors-'));
  await cp(fileURLToPath(new URL('../images/fixtures', import.meta.url)), folder, { recursive: true });
});
afterAll(() => rm(folder, { recursive: true }));

async function run(path: string) {
  const results = [];
  for await (const result of runConformance(path)) results.push(result);
  return results;
}

describe('the AgentOCR vectors', () => {
  test('every picture and every glyph passes, and pictures of texts that are shaped are told from them', async () => {
    const results = await run(folder);
    expect(results.filter(({ status }) => status === 'failed')).toEqual([]);
    const shaped = results.filter(({ status }) => status === 'skipped');
    expect([...new Set(shaped.map(({ file }) => file))]).toEqual(['render-scripts.json']);
    expect([shaped.length, results.length]).toEqual([19, 10 + 1 + 20 + 1 + 2 * (1 + 318)]);
  });

  test.each([
    ['render.json', 'e72119124ebe8aa8', 'f72119124ebe8aa8', 'alf1 at 1'],
    ['render.json', '"vision_tokens": 42', '"vision_tokens": 43', 'alf1 at 1'],
    ['render.json', '"tokens": 9', '"tokens": 4', 'no history'],
    ['glyphs.json', 'AAB8hAAAAAB8', 'AAB8hAAAAAB9', '"!" at 10 px'],
  ])('a changed value in %s fails the check of %s', async (name, from, to, at) => {
    const text = await readFile(join(folder, name), 'utf8');
    expect(text).toContain(from);
    const changed = join(folder, `${name.slice(0, -5)}-changed.json`);
    await writeFile(changed, text.replace(from, to));
    const failures = (await run(changed)).filter(({ status }) => status === 'failed');
    expect(failures.map((failure) => failure.case)).toEqual([at]);
    await rm(changed);
  });
});
