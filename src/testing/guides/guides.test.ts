import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, jest, test } from '@jest/globals';
import { GuideFolder } from './guide-folder.ts';
import { changed, patternOf, readGuide } from './read-guide.ts';

const ROOT = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
const guides = readdirSync(new URL('docs/guides/', ROOT)).filter((name) => /^add-/.test(name));

describe('a guide that changes the code', () => {
  test.each(guides)('%s names places that are there, and files that are not', (guide) => {
    const steps = readGuide(read(`docs/guides/${guide}`));
    for (const step of steps) {
      if (step.kind === 'create') expect([step.path, existsSync(new URL(step.path, ROOT))]).toEqual([step.path, false]);
      if (step.kind === 'edit') expect(step.hunks.reduce(changed, read(step.path))).not.toBe(read(step.path));
    }
    expect(steps.some(({ kind }) => kind === 'run')).toBe(true);
  });

  test('a projection with one GraphQL field takes at most five files, an environment one', () => {
    const files = (guide: string) => readGuide(read(`docs/guides/${guide}.md`)).filter(({ kind }) => kind !== 'run');
    expect(files('add-a-projection').length).toBeLessThanOrEqual(5);
    expect(files('add-an-environment').length).toBe(1);
  });

  test('a place that is not there, or is there twice, is refused', () => {
    expect(changed('a\nb\nc\n', { before: 'b', after: 'b\nx' })).toBe('a\nb\nx\nc\n');
    expect(() => changed('a\nb\n', { before: 'x', after: 'y' })).toThrow('is there 0 times');
    expect(() => changed('a\nb\na\n', { before: 'a', after: 'y' })).toThrow('is there 2 times');
  });

  test('an output may leave out a part of a line and whole lines', () => {
    expect('run 7 completed\n').toMatch(patternOf('run … completed'));
    expect('a\nb\nc\nd\n').toMatch(patternOf('a\n…\nd'));
    expect('run 7 failed\n').not.toMatch(patternOf('run … completed'));
  });

  test('only commands that left something in the background have their process groups ended', async () => {
    const folder = new GuideFolder(tmpdir(), { PATH: '/usr/bin:/bin' });
    await folder.run('true');
    await folder.run('sleep 60 &');
    const kill = jest.spyOn(process, 'kill');
    folder.endBackground();
    expect(kill.mock.calls.map(([, signal]) => signal)).toEqual(['SIGTERM']);
    expect(kill).toHaveReturnedWith(true);
    kill.mockRestore();
  });
});
