import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { chooseCandidates, gradeOutcome } from './expansion.ts';

describe('gradeOutcome', () => {
  const going = { terminated: false, truncated: false };
  test.each([
    [
      'a negative score is a disaster worth 0, even when the episode ended',
      { ...going, score: -1, terminated: true },
      0,
      { score: 0, end: 'disaster' },
    ],
    [
      'an end of the environment keeps its score',
      { ...going, score: 0.5, terminated: true },
      0,
      { score: 0.5, end: 'terminated' },
    ],
    [
      'a truncation by the environment keeps its score',
      { ...going, score: 0.5, truncated: true },
      0,
      { score: 0.5, end: 'truncated' },
    ],
    ['a node at the depth limit may still be expanded', { ...going, score: 0.5 }, 2, { score: 0.5, end: 'none' }],
    ['a node one deeper is cut off with its score', { ...going, score: 0.5 }, 3, { score: 0.5, end: 'depth' }],
  ])('%s', (_rule, outcome, parentDepth, graded) => {
    expect(gradeOutcome(outcome, parentDepth, 3)).toEqual(graded);
  });
});

describe('chooseCandidates', () => {
  test('a repeated reply is dropped in favour of the first; the same action after another thought is kept and marked', () => {
    const [a, b, c, d] = [
      { ordinal: 0, response: 'think\nAction: x', action: 'x' },
      { ordinal: 1, response: 'other\nAction: x', action: 'x' },
      { ordinal: 2, response: 'think\nAction: x', action: 'x' },
      { ordinal: 3, response: 'third\nAction: y', action: 'y' },
    ] as const;
    expect(chooseCandidates([a, b, c, d])).toEqual({
      kept: [
        { candidate: a, equivalentTo: null },
        { candidate: b, equivalentTo: 0 },
        { candidate: d, equivalentTo: null },
      ],
      dropped: [{ candidate: c, sameAs: 0 }],
    });
  });

  test('every candidate of any replies is kept or dropped, and no two kept ones are the same', () => {
    const replies = fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 8 });
    fc.assert(
      fc.property(replies, (actions) => {
        const candidates = actions.map((action, ordinal) => ({ ordinal, action, response: `${ordinal % 2}${action}` }));
        const { kept, dropped } = chooseCandidates(candidates);
        expect(kept.length + dropped.length).toBe(candidates.length);
        expect(new Set(kept.map(({ candidate }) => candidate.response)).size).toBe(kept.length);
        expect(kept.filter(({ equivalentTo }) => equivalentTo === null).length).toBe(new Set(actions).size);
      }),
    );
  });
});
