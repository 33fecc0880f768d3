/**
 * Derives a seed from the names of what is drawn, such as (run, task, rollout, step): a resumed run asks again and gets the same
 * number. The same parts give the same 53-bit integer on every machine; `1` and `'1'`, and `('ab','c')` and `('a','bc')`, differ.
 * It spreads well and is no cryptographic hash. @throws RangeError for a number that is not finite.
 */
export function seedFrom(...parts: readonly (string | number)[]): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  const mix = (unit: number): void => {
    high = Math.imul(high ^ unit, 0x9e3779b1);
    low = Math.imul(low ^ unit, 0x5f356495);
  };
  for (const part of parts) {
    if (typeof part === 'number' && !Number.isFinite(part)) throw new RangeError(`a seed part must be finite, not ${part}`);
    const text = String(part);
    // Kind and length go first, so that neither the types nor the borders of parts can be confused.
    mix(typeof part === 'number' ? 0x10001 : 0x10002);
    mix(text.length);
    for (let i = 0; i < text.length; i++) mix(text.charCodeAt(i));
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  return (low >>> 0) * 0x200000 + (high >>> 11);
}
