import { expect, test } from '@jest/globals';
import { compareWithParents } from './show-record.ts';

const cells = (line: string) => [
  line.slice(0, 34).trim(),
  line.slice(36, 37).trim(),
  line.slice(38, 72).trim(),
  line.slice(74).trim(),
];

test('each action of a revision is shown next to its source, and only the reflection and the good suffix are trained on', () => {
  const lines = compareWithParents({
    bad: ['look', 'get 1 stone', 'wait', 'wait', 'wait'],
    good: ['look', 'get 1 wood', 'craft rod'],
    branch: 1,
    transition: 1,
    reflection: 'Getting the stone was wrong, I should get wood.',
  });
  expect(lines.slice(2).map(cells)).toEqual([
    ['look', '·', 'look', 'look'],
    ['get 1 stone', '·', 'get 1 stone', ''],
    ['', '✓', '“Getting the stone was wrong, I', ''],
    ['', '', 'should get wood.”', ''],
    ['wait', '✓', 'get 1 wood', 'get 1 wood'],
    ['wait', '✓', 'craft rod', 'craft rod'],
    ['wait', '', '', ''],
  ]);
});

test('a text wider than its column is truncated, so that the columns stay aligned', () => {
  const long = 'craft 1 '.repeat(20);
  const [line = ''] = compareWithParents({ bad: [long], good: [], branch: 0, transition: 0, reflection: 'No.' }).slice(2);
  expect(cells(line)).toEqual([`${long.slice(0, 33)}…`, '·', `${long.slice(0, 33)}…`, '']);
});
