import { describe, expect, test } from '@jest/globals';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { describeQuery, parseTrajectoryQuery, type QueryTexts } from './parse-trajectory-query.ts';

describe('trajectory filters', () => {
  test('an empty filter accepts every trajectory', () => {
    expect(parseTrajectoryQuery({})).toEqual(everyTrajectory);
    expect(parseTrajectoryQuery({ runs: undefined })).toEqual(everyTrajectory);
    expect(describeQuery(everyTrajectory)).toBe('no filter');
  });

  test('every filter is read, and described in words', () => {
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

  test('the order and repetition of alternatives do not matter', () => {
    expect(parseTrajectoryQuery({ tasks: 'b,a,b' })).toEqual(parseTrajectoryQuery({ tasks: 'a,b' }));
  });

  test.each<[QueryTexts, string]>([
    [{ runs: 'mine' }, 'filter runs = "mine": must be run ids'],
    [{ tasks: '' }, 'filter tasks = "": must not be empty'],
    [{ outcomes: 'won' }, 'filter outcomes = "won"'],
    [{ success: 'yes' }, 'filter success = "yes"'],
    [{ returnMin: 'NaN' }, 'filter returnMin = "NaN": must be a number'],
    [{ returnMax: '1e999' }, 'filter returnMax = "1e999": must be a number'],
    [{ policies: '@3' }, 'filter policies = "@3": must be a policy, or a policy and its version'],
    [{ policies: 'linear@999999999999999' }, 'filter policies = "linear@999999999999999": must be a policy'],
    [{ finishedFrom: 'yesterday' }, 'filter finishedFrom = "yesterday": must be a date'],
    [
      { finishedFrom: '2026-01-01T10:00' },
      'filter finishedFrom = "2026-01-01T10:00": must be a date (its first instant in UTC) or a time',
    ],
    [{ finishedFrom: '2026-01-01 (hello)' }, 'filter finishedFrom = "2026-01-01 (hello)": must be a date'],
    [
      { finishedBefore: '2026-02-30' },
      'filter finishedBefore = "2026-02-30": must be a day of the calendar, which 2026-02-30 is not',
    ],
    [{ finishedBefore: '2026-02-31T00:00:00Z' }, 'must be a day of the calendar, which 2026-02-31 is not'],
    [{ finishedBefore: '2026-01-01T25:00:00Z' }, 'filter finishedBefore = "2026-01-01T25:00:00Z": must be a date'],
    [{ color: 'red' } as QueryTexts, 'filter color'],
  ])('the filter %j is refused by name', (texts, message) => {
    expect(() => parseTrajectoryQuery(texts)).toThrow(message);
  });
});
