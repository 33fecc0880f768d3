/**
 * Marks the tokens of a padded response up to and with its first end token; a response without one counts whole.
 * Source: verl `get_response_mask`. Recorded rows need none: they hold the ids that were sampled, and nothing after
 * them. @param ends the token ids that end a response, such as EOS.
 */
export function maskUntilEnd(ids: ArrayLike<number>, ends: readonly number[]): Uint8Array {
  const mask = new Uint8Array(ids.length);
  for (const [t, id] of Array.from(ids).entries()) {
    mask[t] = 1;
    if (ends.includes(id)) break;
  }
  return mask;
}
