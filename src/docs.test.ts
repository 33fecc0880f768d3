import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { referencePages } from '../infra/docs/reference.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('.vitepress'))
    .map((name) => `docs/${name}`),
];

describe('the documentation', () => {
  test.each([
    ['examples/trainer.py', 'docs/tutorials/bring-your-own-trainer.md'],
    ['examples/count-letters.ts', 'docs/guides/tools-and-rewards.md'],
  ])('%s is quoted in %s as its test runs it', (example, page) => {
    expect(read(page)).toContain(read(example).trim());
  });

  test('every page of the reference equals what the code generates (npm run docs:reference writes it)', async () => {
    const made = await referencePages();
    for (const [name, text] of Object.entries(made))
      expect({ name, same: read(`docs/reference/${name}`) === text }).toEqual({ name, same: true });
    expect(readdirSync(join(ROOT, 'docs/reference')).sort()).toEqual(Object.keys(made).sort());
  });

  test('every link between pages leads to a file that exists', () => {
    const broken = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !existsSync(resolve(ROOT, dirname(page), target)))
        .map((target) => `${page} → ${target}`),
    );
    expect(broken).toEqual([]);
  });

  test('every block of commands is run by a test or marked as an excerpt with its date', () => {
    const unmarked = pages.flatMap((page) =>
      [...read(page).matchAll(/^```(sh|console|python)\b(.*)$/gm)]
        .filter(([, language, rest = '']) => !isCovered(page, language ?? '', rest))
        .map(([fence]) => `${page}: ${fence}`),
    );
    expect(unmarked).toEqual([]);
  });

  test('the README has at most 150 lines', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(151);
  });
});

/**
 * The two commands of the README and those of CONTRIBUTING are what CI itself runs; the Python block is an example file, compared
 * above.
 */
function isCovered(page: string, language: string, rest: string): boolean {
  if (/ excerpt=\d{4}-\d\d-\d\d$| run$/.test(rest)) return true;
  if (language === 'python') return page === 'docs/tutorials/bring-your-own-trainer.md';
  return language === 'sh' && ['README.md', 'CONTRIBUTING.md', 'docs/tutorials/first-run.md'].includes(page);
}
