import { describe, expect, test } from '@jest/globals';
import { checkRowOptions, ROW_FORMATS, type RowData, type RowFormatKind, type RowParameters } from './row-options.ts';

const check =
  (kind: RowFormatKind, data: RowData, change: Partial<RowParameters> = {}) =>
  () =>
    checkRowOptions(
      { kind, metadata: 'include', span: 'reply' },
      {
        data,
        thresholds: { alpha: 0.5, beta: 0.2 },
        state: 'verified',
        gates: { duplicates: 'remove', testTasks: 'remove', evaluations: 'remove', maxPerTask: null },
        ...change,
      },
    );

describe('row options', () => {
  test('preferences come from pairs or revisions, and all other rows from good and revised trajectories', () => {
    const allowed = (data: RowData) => ROW_FORMATS.filter((kind) => !throws(check(kind, data)));
    const supervised = ROW_FORMATS.filter((kind) => kind !== 'dpo');
    expect(allowed('good')).toEqual(supervised);
    expect(allowed('both')).toEqual(supervised);
    expect(allowed('revisions')).toEqual(ROW_FORMATS);
    expect(allowed('pairs')).toEqual(['dpo']);
  });

  test.each([
    ['a percentage for alpha', { thresholds: { alpha: 50, beta: 0.2 } }, 'alpha is 50'],
    ['alpha 0, at which a failure is good', { thresholds: { alpha: 0, beta: 0.2 } }, 'alpha is 0'],
    ['a negative beta', { thresholds: { alpha: 0.5, beta: -1 } }, 'beta is -1'],
    [
      'a balance of nothing',
      { gates: { duplicates: 'remove', testTasks: 'remove', evaluations: 'remove', maxPerTask: 0 } },
      'at most 0 examples',
    ],
  ] as const)('%s is refused', (_, change, message) => {
    expect(check('xtuner', 'both', change)).toThrow(message);
  });
});

function throws(act: () => void): boolean {
  try {
    act();
    return false;
  } catch {
    return true;
  }
}
