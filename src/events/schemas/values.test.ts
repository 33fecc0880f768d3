import { expect, test } from '@jest/globals';
import { policyId } from './values.ts';

test.each(['Qwen/Qwen2.5-7B-Instruct', 'a b', '模型', 'v..2', '..a', './models/x', 'proto'])('%j names a policy', (text) => {
  expect(policyId.safeParse(text).success).toBe(true);
});

const INVISIBLE = [
  ...['\n', '\0', '\u007f', '\u0085', '\u00ad', '\u061c', '\u200b', '\u200d', '\u200e', '\u200f', '\u2028', '\u2029', '\u202a'],
  ...['\u202e', '\u2060', '\u2066', '\u2069', '\ufeff', '\u{e0041}'],
];
const PARTS = ['.', '..', '../x', 'a/../b', 'a/..', 'a\\..\\b', '..\\b', 'a/..\\b', 'a\\..', '__proto__'];
test.each(['', 'x'.repeat(201), ...PARTS, ...INVISIBLE.map((char) => `a${char}b`)])(
  '%j is refused as the name of a policy',
  (text) => {
    expect(policyId.safeParse(text).success).toBe(false);
  },
);
