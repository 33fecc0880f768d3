import { expect, test } from '@jest/globals';
import { textTokens } from './text-tokens.ts';

test('a named tokenizer counts a text, and treats a control token as text', async () => {
  expect(await textTokens('hello world')).toEqual({ count: 2, tokenizer: 'o200k_base' });
  expect(await textTokens('')).toEqual({ count: 0, tokenizer: 'o200k_base' });
  expect((await textTokens('<|endoftext|>')).count).toBeGreaterThan(1);
});

test('a line of 1 MB without a break is counted in reasonable time', async () => {
  const { count } = await textTokens('xy'.repeat(500_000));
  expect(count).toBeGreaterThan(100_000);
});
