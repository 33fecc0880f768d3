/**
 * Counts the tokens with which two sequences begin alike. Where it is less than the length of `before` (a prompt and the reply to
 * it), the server tokenised the same text in another way: re-tokenisation drift.
 */
export function sharedTokens(before: ArrayLike<number>, tokens: ArrayLike<number>): number {
  let shared = 0;
  while (shared < before.length && shared < tokens.length && before[shared] === tokens[shared]) shared++;
  return shared;
}
