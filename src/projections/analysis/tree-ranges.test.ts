import { expect, test } from '@jest/globals';
import { cursorOf } from '../../postgres/keyset-cursor.ts';
import { STEP_ORDERINGS } from './step-query.ts';
import { treeRanges } from './tree-ranges.ts';

const { TREE } = STEP_ORDERINGS;
const FIRST = '00000000-0000-0000-0000-000000000000';
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const at = (treeId: string) => cursorOf(TREE, [treeId, '0', treeId]);
const page = { limit: 50, after: null, before: null } as const;
const numberOf = (uuid: string) => BigInt(`0x${uuid.replaceAll('-', '')}`);

test.each([
  ['forwards', null, null],
  ['backwards', null, null],
  ['forwards', '80000000-0000-0000-0000-000000000000', null],
  ['backwards', null, '80000000-0000-0000-0000-000000000000'],
  ['forwards', FIRST, LAST],
  ['forwards', LAST, null],
  ['backwards', null, FIRST],
] as const)('a page that reads %s behind %s and before %s is divided into ranges that leave no gap', (towards, after, before) => {
  const asked = { ...page, towards, after: after && at(after), before: before && at(before) };
  const ranges = [...treeRanges(TREE, asked, 1 / 4096)];
  const inOrder = towards === 'forwards' ? ranges : ranges.reverse();
  expect(inOrder[0]?.from).toBe(after ?? FIRST);
  expect(inOrder.at(-1)?.to).toBe(before ?? LAST);
  inOrder.reduce((one, next) => {
    expect(numberOf(next.from)).toBe(numberOf(one.to) + 1n);
    return next;
  });
});

test('the first range of a page is the share of the ids that is asked for', () => {
  const [first] = treeRanges(TREE, { ...page, towards: 'forwards' }, 1 / 4096);
  expect(first).toEqual({ from: FIRST, to: '000fffff-ffff-ffff-ffff-ffffffffffff' });
  const [last] = treeRanges(TREE, { ...page, towards: 'backwards' }, 1 / 4096);
  expect(last).toEqual({ from: 'fff00000-0000-0000-0000-000000000000', to: LAST });
});
