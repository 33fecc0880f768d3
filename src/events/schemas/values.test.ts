import { expect, test } from '@jest/globals';
import { policyId } from './values.ts';

test.each(['Qwen/Qwen2.5-7B-Instruct', 'a b', '模型', 'v..2', '..a', './models/x', 'proto'])('%j names a policy', (text) => {
  expect(policyId.safeParse(text).success).toBe(true);
});

test.each(['', '..', '../x', 'a/../b', 'a/..', '__proto__', 'a\nb', 'a\u0000', '\u007f', 'x'.repeat(201)])(
  '%j is refused as the name of a policy',
  (text) => {
    expect(policyId.safeParse(text).success).toBe(false);
  },
);
