/**
 * Numbers the attended tokens of a padded row from 0. On what is not attended the two generations differ: verl repeats the number
 * of the last attended token (0 before the first), max(cumsum − 1, 0); Agent-R1 legacy writes 0, (cumsum − 1)·mask. Attention
 * ignores both.
 */
export function positionIds(attention: ArrayLike<number>, unattended: 'repeat' | 'zero'): Int32Array {
  let seen = 0;
  return Int32Array.from(attention, (attended) => {
    seen += attended;
    if (attended === 0 && unattended === 'zero') return 0;
    return Math.max(seen - 1, 0);
  });
}
