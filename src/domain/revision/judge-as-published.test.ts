import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { leafPaths } from './pair-paths.ts';
import { cutLogAsPublished, nextPublishedJudging, pythonWordCount } from './published-rows.ts';
import { plant } from './revision-testing.ts';

const steps = leafPaths(plant([{ words: 'abc', shared: 0, score: 0 }]))[0]?.steps ?? [];
const next = (replies: readonly string[], maxTokenLength: number | null = null) =>
  nextPublishedJudging(steps, 'TASK', replies, maxTokenLength);

describe('a walk by the published rules', () => {
  test('the walk asks step by step while a reply says good or uncertain, and keeps the replies', () => {
    expect(next([])).toMatchObject({ kind: 'judge', index: 0, slots: { taskDescription: 'TASK', log: '', action: 'act a' } });
    expect(next(['Judgement: not good', 'UNCERTAIN'])).toMatchObject({ kind: 'judge', index: 2, slots: { action: 'act c' } });
    expect(next([' \nWhy.\nJudgement: Bad \n', 'Judgement: Good'])).toEqual({
      kind: 'judged',
      judging: {
        kept: 1,
        feedback: [{ revision_feedback: 'Why.\nJudgement: Bad', action: 'act a', obs: 'obs a', judgement: 'Bad' }],
      },
    });
  });

  test('an empty reply rejects the step, and a trajectory without a rejected step is kept whole', () => {
    expect(next(['good', ''])).toMatchObject({ judging: { kept: 2, feedback: [{}, { judgement: '' }] } });
    expect(next(['good', 'good', 'good'])).toMatchObject({ judging: { kept: 3, feedback: [{}, {}, {}] } });
  });

  test('a log of more words than MAX_TOKEN_LENGTH − 60 loses six characters at a time, also within words', () => {
    const log = 'Action: act a\nObservation: obs a';
    expect(cutLogAsPublished(log, null)).toBe(log);
    expect(cutLogAsPublished(log, 66)).toBe(log); // six words
    expect(cutLogAsPublished(log, 65)).toBe('a\nObservation: obs a');
    expect(cutLogAsPublished(log, 63)).toBe('rvation: obs a');
    expect(next(['good'], 62)).toMatchObject({ slots: { log: ' a' } });
    expect(cutLogAsPublished(log, 60)).toBe('');
    expect(() => cutLogAsPublished(log, 59)).toThrow(RangeError);
  });

  test('the cut of any log equals the result of cutting one by one', () => {
    const piece = fc.constantFrom('a', 'bc', ' ', '\n', '🜂', '日');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.nat(20), (pieces, words) => {
        let characters = [...pieces.join('')];
        while (pythonWordCount(characters.join('')) > words) characters = characters.slice(6);
        expect(cutLogAsPublished(pieces.join(''), 60 + words)).toBe(characters.join(''));
      }),
    );
  });
});
