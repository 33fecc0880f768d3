import { expect, test } from '@jest/globals';
import { sequentialReads } from './explain-questions.ts';

const scan = (table: string, rows: number, removed: number, loops: number) => ({
  'Node Type': 'Seq Scan',
  'Relation Name': table,
  'Actual Rows': rows,
  'Rows Removed by Filter': removed,
  'Actual Loops': loops,
});

test('the rows of a scan are those of all its workers, and of all scans of the table', () => {
  const plan = {
    'Node Type': 'Append',
    'Actual Rows': 3,
    'Actual Loops': 1,
    Plans: [
      { 'Node Type': 'Gather', 'Actual Rows': 3, 'Actual Loops': 1, Plans: [scan('samples', 0.33, 399.67, 3)] },
      {
        'Node Type': 'Index Scan',
        'Relation Name': 'steps',
        'Index Name': 'steps_pkey',
        'Actual Rows': 1,
        'Actual Loops': 5_000,
      },
      scan('samples', 10, 0, 1),
      scan('runs', 20, 0, 100),
    ],
  };
  expect([...sequentialReads(plan)].map(([table, rows]) => [table, Math.round(rows)])).toEqual([
    ['samples', 1_210],
    ['runs', 2_000],
  ]);
});
