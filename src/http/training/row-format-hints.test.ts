import { expect, test } from '@jest/globals';
import { openRowFormatHints } from './row-format-hints.ts';

test('the form in which rows of a policy were read last is known, and is that of a trainer that says nothing where nobody asked', () => {
  const asking = openRowFormatHints();
  expect(asking.wantedBy('mine')).toEqual({ layout: 'step', advantages: 'without' });
  asking.note('mine', { layout: 'verl', advantages: 'without' });
  asking.note('mine', { layout: 'padded', advantages: 'with' });
  expect([asking.wantedBy('mine'), asking.wantedBy('other')]).toEqual([
    { layout: 'padded', advantages: 'with' },
    { layout: 'step', advantages: 'without' },
  ]);
});

test('how long nobody asked counts from the last request, and policies are forgotten that nobody asked for within the time', () => {
  let now = 0;
  const asking = openRowFormatHints(() => now);
  expect([asking.quietMs(), asking.within(100)]).toEqual([Number.POSITIVE_INFINITY, []]);
  asking.note('first', { layout: 'step', advantages: 'without' });
  now = 80;
  expect(asking.quietMs()).toBe(80);
  asking.note('second', { layout: 'step', advantages: 'without' });
  now = 150;
  asking.touch();
  expect([asking.quietMs(), asking.within(100), asking.within(150)]).toEqual([0, ['second'], ['second', 'first']]);
});

test('the form that a lease names counts until rows of its policy are read, and that in which they are read from then on', () => {
  let now = 0;
  const asking = openRowFormatHints(() => now);
  asking.leased('mine', { layout: 'padded', advantages: 'with' });
  expect(asking.wantedBy('mine')).toEqual({ layout: 'padded', advantages: 'with' });
  asking.note('mine', { layout: 'verl', advantages: 'without' });
  now = 50;
  asking.leased('mine', { layout: 'step', advantages: 'without' });
  expect(asking.wantedBy('mine')).toEqual({ layout: 'verl', advantages: 'without' });
  expect([asking.quietMs(), asking.within(10)]).toEqual([0, ['mine']]);
});
