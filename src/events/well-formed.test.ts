import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LOOK_DEPTH, wellFormed } from './well-formed.ts';

/** Text with halves of surrogate pairs and NUL in it. */
const broken = fc
  .array(fc.constantFrom('a', '\0', '\ud83c', '\udf33', '\u{1F333}', 'é'), { maxLength: 6 })
  .map((parts) => parts.join(''));
const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    broken,
    fc.constantFrom(null, true, 1.5),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3 }),
  ),
})).value;

describe('wellFormed', () => {
  test('wellFormed leaves only storable text, changes nothing else, and lists every place once', () => {
    fc.assert(
      fc.property(fc.record({ text: broken, value }), (given) => {
        const before = structuredClone(given);
        const { value: repaired, repaired: paths } = wellFormed(given);
        expect(given).toEqual(before);
        const [was, is] = [textsOf(given), textsOf(repaired)];
        expect([...is.keys()]).toEqual([...was.keys()]);
        const changed: string[] = [];
        for (const [path, text] of was) {
          const now = is.get(path) ?? '';
          expect(now.isWellFormed() && !now.includes('\0')).toBe(true);
          expect(now).toHaveLength(text.length);
          if (now !== text) changed.push(path);
        }
        expect([...paths].sort()).toEqual(changed.sort());
        expect(wellFormed(repaired)).toEqual({ value: repaired, repaired: [] });
      }),
    );
  });

  test('wellFormed makes every key storable, keeps every field, and lists the changed keys', () => {
    const keyed = fc.dictionary(broken, fc.oneof(broken, fc.dictionary(broken, fc.nat(), { maxKeys: 4 })), { maxKeys: 6 });
    fc.assert(
      fc.property(keyed, (given) => {
        const { value: repaired, repaired: paths } = wellFormed(given);
        expect(Object.keys(repaired)).toHaveLength(Object.keys(given).length);
        for (const key of Object.keys(repaired)) expect(key.isWellFormed() && !key.includes('\0')).toBe(true);
        for (const [key, item] of Object.entries(given))
          if (key.isWellFormed() && !key.includes('\0')) expect(repaired[key]).toEqual(wellFormed(item).value);
        expect(paths.length === 0).toBe(JSON.stringify(repaired) === JSON.stringify(given));
        expect(wellFormed(repaired)).toEqual({ value: repaired, repaired: [] });
      }),
    );
  });

  test('wellFormed returns a sound value itself, without a copy', () => {
    const whole = { a: ['text', { b: '\u{1F333}' }], c: null };
    expect(wellFormed(whole).value).toBe(whole);
  });

  test('wellFormed copies only the path to what it repairs', () => {
    const given = { left: { text: 'whole' }, right: { text: 'a\0' } };
    const { value: repaired } = wellFormed(given);
    expect(repaired).toEqual({ left: { text: 'whole' }, right: { text: 'a\uFFFD' } });
    expect(repaired.left).toBe(given.left);
  });

  test('wellFormed stops at a depth that no schema accepts, however deep the value is', () => {
    let deep: unknown = 'a\0';
    for (let i = 0; i < 200_000; i++) deep = [deep];
    expect(wellFormed(deep)).toEqual({ value: deep, repaired: [] });
    let last: unknown = 'a\0';
    for (let i = 0; i < LOOK_DEPTH; i++) last = [last];
    expect(wellFormed(last).repaired).toHaveLength(1);
  });
});

function textsOf(given: unknown, path = ''): Map<string, string> {
  if (typeof given === 'string') return new Map([[path, given]]);
  if (typeof given !== 'object' || given === null) return new Map();
  return new Map(Object.entries(given).flatMap(([key, item]) => [...textsOf(item, path === '' ? key : `${path}.${key}`)]));
}
