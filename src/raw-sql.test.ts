import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { productFiles } from './testing/product-files.ts';
import { isAmong, isPlain, normalised, rawStatementsIn } from './testing/raw-statements.ts';

/** How many there may be. Another one needs a test that sends it: a whole run of the tests ends with those that none sent. */
const RAW = 270;

const found = productFiles().flatMap((file) =>
  rawStatementsIn(readFileSync(file, 'utf8')).map((statement) => ({ file, ...statement })),
);

describe('statements whose row types nothing checks', () => {
  test('a statement that only looks rows up by the values of columns is written by rowsWhere, not as text', () => {
    expect(found.filter(isPlain)).toEqual([]);
  });

  test('there are no more of them than there were', () => {
    expect(found.length).toBeLessThanOrEqual(RAW);
    expect(found.length).toBeGreaterThan(RAW - 20); // lower the number
  });

  test('a raw statement is found with its parts, is plain or not, and is found again among those that were sent', () => {
    const source = `
      const one = sql<{ id: string }>\`
        select tree_id, "offset" from trees where run_id = \${id}::uuid and tree_id = any(\${[...new Set(ids.map(({ id }) => id))]}::uuid[])
        order by tree_id\`;
      const condition = sql<boolean>\`a = 1\`;
      const two = sql<Row>\`select count(*) from trees where \${condition}\`;`;
    const [one, two, ...others] = rawStatementsIn(source);
    expect(others).toEqual([]);
    expect([one?.line, two?.line]).toEqual([2, 6]);
    expect([one && isPlain(one), two && isPlain(two)]).toEqual([true, false]);
    const sent = normalised(
      'SELECT tree_id, offset FROM trees WHERE run_id = $1::uuid AND tree_id = any($2::uuid[]) order by tree_id',
    );
    expect([one && isAmong(one, sent), two && isAmong(two, sent)]).toEqual([true, false]);
  });
});
