import { expect, test } from '@jest/globals';
import { isPassingStatus, retryAfterMs } from './retry-after.ts';

const NOW = Date.parse('Sun, 06 Nov 1994 08:49:37 GMT');
const read = (headers: Readonly<Record<string, string>>) => retryAfterMs((name) => headers[name], NOW);

test.each<[Readonly<Record<string, string>>, number | null]>([
  [{ 'retry-after': '7' }, 7_000],
  [{ 'retry-after': ' 0.5 ' }, 500],
  [{ 'retry-after': 'Sun, 06 Nov 1994 08:50:07 GMT' }, 30_000],
  [{ 'retry-after': 'Sun, 06 Nov 1994 08:00:00 GMT' }, 0],
  [{ 'retry-after-ms': '250', 'retry-after': '7' }, 250],
  [{ 'retry-after': 'soon' }, null],
  [{ 'retry-after': '' }, null],
  [{}, null],
])('the headers %j ask for a pause of %p ms', (headers, pause) => {
  expect(read(headers)).toBe(pause);
});

test('408, 425, 429 and server faults are transient; refusals and unimplemented methods are not', () => {
  expect([408, 425, 429, 500, 502, 503, 504, 529].filter((status) => !isPassingStatus(status))).toEqual([]);
  expect([200, 400, 401, 404, 409, 413, 422, 501, 505].filter(isPassingStatus)).toEqual([]);
});
