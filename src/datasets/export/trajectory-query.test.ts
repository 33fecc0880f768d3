import { describe, expect, test } from '@jest/globals';
import { describeQuery, everyTrajectory, parseTrajectoryQuery, type QueryTexts } from './trajectory-query.ts';

describe('reading filters', () => {
  test('no filter takes every trajectory', () => {
    expect(parseTrajectoryQuery({})).toEqual(everyTrajectory);
    expect(parseTrajectoryQuery({ runs: undefined })).toEqual(everyTrajectory);
    expect(describeQuery(everyTrajectory)).toBe('no filter');
  });

  test('every filter is read, and said again in words', () => {
    const query = parseTrajectoryQuery({
      runs: '01890a5d-ac96-774b-bcce-b302099a8057',
      environments: 'textcraft',
      tasks: 'b, a',
      splits: 'train',
      outcomes: 'truncated,terminated',
      success: 'false',
      returnMin: '-.5',
      returnMax: '1e3',
      policies: 'linear@3,random',
      finishedFrom: '2026-01-02',
      finishedBefore: '2026-01-02T10:00:00+02:00',
    });
    expect(query).toEqual({
      runs: ['01890a5d-ac96-774b-bcce-b302099a8057'],
      environments: ['textcraft'],
      tasks: ['a', 'b'],
      splits: ['train'],
      outcomes: ['terminated', 'truncated'],
      success: false,
      returnMin: -0.5,
      returnMax: 1_000,
      policies: [
        { policyId: 'linear', version: 3 },
        { policyId: 'random', version: null },
      ],
      finishedFrom: '2026-01-02T00:00:00.000Z',
      finishedBefore: '2026-01-02T08:00:00.000Z',
    });
    expect(describeQuery(query)).toContain('tasks = a|b, splits = train, outcomes = terminated|truncated, success = false');
    expect(describeQuery(query)).toContain('policies = linear@3|random');
  });

  test('the order and repetition of alternatives do not count', () => {
    expect(parseTrajectoryQuery({ tasks: 'b,a,b' })).toEqual(parseTrajectoryQuery({ tasks: 'a,b' }));
  });

  test.each<[QueryTexts, string]>([
    [{ runs: 'mine' }, 'filter runs = "mine": must be run ids'],
    [{ tasks: '' }, 'filter tasks = "": must not be empty'],
    [{ outcomes: 'won' }, 'filter outcomes = "won"'],
    [{ success: 'yes' }, 'filter success = "yes"'],
    [{ returnMin: 'NaN' }, 'filter returnMin = "NaN": must be a number'],
    [{ returnMax: '1e999' }, 'filter returnMax = "1e999": must be a number'],
    [{ policies: 'linear@x' }, 'filter policies = "linear@x": must be a policy, or a policy and its version'],
    [{ finishedFrom: 'yesterday' }, 'filter finishedFrom = "yesterday": must be a date'],
    [{ color: 'red' } as QueryTexts, 'filter color'],
  ])('%j is refused by name', (texts, message) => {
    expect(() => parseTrajectoryQuery(texts)).toThrow(message);
  });
});
