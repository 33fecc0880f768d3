import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readShared, shareValues } from './shared-values.ts';

test('what is written once is read back as it was, objects that look like references included', () => {
  const value = fc.jsonValue({ maxDepth: 4 });
  const looksLike = fc.record({ $: fc.oneof(fc.integer(), value) });
  fc.assert(
    fc.property(fc.array(fc.oneof(value, looksLike, fc.constant({ text: 'again '.repeat(20) }))), (given) => {
      const read = JSON.parse(JSON.stringify(shareValues(given)));
      expect(readShared(read)).toEqual(JSON.parse(JSON.stringify(given)));
    }),
  );
});

test('a step that lies on many paths is written once', () => {
  const step = { id: 'a', observation: 'what was seen '.repeat(100) };
  expect(JSON.stringify(shareValues(Array.from({ length: 50 }, () => ({ path: [step, { ...step }] })))).length).toBeLessThan(
    4_000,
  );
});
