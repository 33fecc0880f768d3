import { expect, test } from '@jest/globals';
import { pythonRepr } from './python-text.ts';

// Every pair was printed by CPython 3.11.
const REPRS: readonly (readonly [string, string])[] = [
  ['minecraft:rod', "'minecraft:rod'"],
  ["it's", '"it\'s"'],
  ['say "x"', '\'say "x"\''],
  ['both \' and "', "'both \\' and \"'"],
  ['back\\slash', "'back\\\\slash'"],
  ['tab\tnl\ncr\r', "'tab\\tnl\\ncr\\r'"],
  ['\u0000\u001f\u007f\u0085\u00a0\u00ad', "'\\x00\\x1f\\x7f\\x85\\xa0\\xad'"],
  ['\u00e9 \u00fc \u6f22 \ud83d\ude00', "'\u00e9 \u00fc \u6f22 \ud83d\ude00'"],
  ['\u200b\u2028\ue000\udb40\udc01', "'\\u200b\\u2028\\ue000\\U000e0001'"],
  ['\ufeff', "'\\ufeff'"],
];

test.each(REPRS)('repr of %j equals that of Python', (text, written) => {
  expect(pythonRepr(text)).toBe(written);
});
