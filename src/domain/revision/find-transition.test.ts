import { describe, expect, test } from '@jest/globals';
import { directTransition, nextTransitionStep } from './find-transition.ts';
import { leafPaths } from './pair-paths.ts';
import { plant } from './revision-testing.ts';
import type { Verdict } from './verdict.ts';

const steps = leafPaths(plant([{ words: 'abc', shared: 0, score: 0 }]))[0]?.steps ?? [];
const next = (...verdicts: Verdict[]) => nextTransitionStep(steps, 'TASK', verdicts);

describe('the search for the first error', () => {
  test('the search asks about one step after the other while the judge accepts them', () => {
    expect(next()).toMatchObject({ kind: 'judge', index: 0, slots: { action: 'act a', log: '' } });
    expect(next('good', 'uncertain')).toMatchObject({ kind: 'judge', index: 2, slots: { action: 'act c' } });
  });

  test('the search ends at the first bad step, whose place is the revision length', () => {
    expect(next('good', 'bad')).toEqual({ kind: 'found', transition: { index: 1, cause: 'bad', judged: 2 } });
    expect(next('good', 'bad', 'bad')).toEqual(next('good', 'bad'));
  });

  test('the search keeps the whole trajectory when no step is bad, and reports that no error was found', () => {
    expect(next('good', 'good', 'uncertain')).toEqual({ kind: 'found', transition: { index: 2, cause: 'none-bad', judged: 3 } });
  });

  test('an unreadable reply is not a bad step: depending on the rule the search continues, or stops without an error', () => {
    expect(next('unparsed')).toMatchObject({ kind: 'judge', index: 1 });
    expect(nextTransitionStep(steps, 'TASK', ['good', 'unparsed'], 'stop')).toEqual({
      kind: 'found',
      transition: { index: 1, cause: 'unparsed', judged: 2 },
    });
  });

  test('a search without a judge keeps the whole trajectory and judges nothing', () => {
    expect(directTransition(steps)).toEqual({ index: 2, cause: 'direct', judged: 0 });
  });
});
