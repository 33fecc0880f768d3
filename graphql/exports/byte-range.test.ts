import { expect, test } from '@jest/globals';
import { byteRange, strongTag } from './byte-range.ts';

test.each([
  [null, { kind: 'whole' }],
  ['bytes=0-', { kind: 'part', from: 0, until: 10 }],
  ['bytes=4-', { kind: 'part', from: 4, until: 10 }],
  ['bytes=4-4', { kind: 'part', from: 4, until: 5 }],
  ['bytes=4-99', { kind: 'part', from: 4, until: 10 }],
  ['bytes=-3', { kind: 'part', from: 7, until: 10 }],
  ['bytes=-99', { kind: 'part', from: 0, until: 10 }],
  ['bytes=-0', { kind: 'beyond' }],
  ['bytes=10-', { kind: 'beyond' }],
  ['bytes=5-4', { kind: 'whole' }],
  ['bytes=0-1,3-4', { kind: 'whole' }],
  ['rows=0-1', { kind: 'whole' }],
  ['bytes=-', { kind: 'whole' }],
])('of ten bytes %p is %j', (header, range) => {
  expect(byteRange(header, 10)).toEqual(range);
});

test('nothing of an empty file is there', () => {
  expect(byteRange('bytes=0-', 0)).toEqual({ kind: 'beyond' });
});

test('a weak tag or a date of If-Range stands for no bytes', () => {
  const tag = 'a'.repeat(64);
  expect([`"${tag}"`, `W/"${tag}"`, 'Sun, 29 Nov 2026 21:00:00 GMT', null].map(strongTag)).toEqual([
    tag,
    undefined,
    undefined,
    undefined,
  ]);
});
