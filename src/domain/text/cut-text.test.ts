import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cutFront, cutText, rangeOf } from './cut-text.ts';

const text = fc.array(fc.constantFrom('a', 'é', '😀', '\u{1F333}'), { maxLength: 12 }).map((parts) => parts.join(''));
const length = fc.nat({ max: 30 });

describe('cutText', () => {
  test('cutText keeps a short text, and drops a surrogate pair whole where the cut would split it', () => {
    expect(cutText('ab😀', 4)).toBe('ab😀');
    expect(cutText('ab😀', 3)).toBe('ab');
    expect(cutText('ab😀', 2)).toBe('ab');
    expect(cutText('😀', 0)).toBe('');
  });

  test('cutText returns the longest well-formed beginning, and cutFront the longest well-formed end, within the length', () => {
    fc.assert(
      fc.property(text, length, (given, limit) => {
        const [start, end] = [cutText(given, limit), cutFront(given, limit)];
        expect(given.startsWith(start) && given.endsWith(end)).toBe(true);
        for (const cut of [start, end]) {
          expect(cut.isWellFormed()).toBe(true);
          expect(cut.length).toBeLessThanOrEqual(limit);
          expect(cut.length).toBeGreaterThanOrEqual(Math.min(given.length, limit) - 1);
        }
      }),
    );
  });
});

test('adjoining ranges are well-formed and concatenate to the whole text', () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 5 }), (given, size) => {
      const parts: string[] = [];
      for (let at = 0; at < given.length; at += size) parts.push(rangeOf(given, at, at + size));
      expect(parts.every((part) => part.isWellFormed())).toBe(true);
      expect(parts.join('')).toBe(given);
    }),
  );
});
