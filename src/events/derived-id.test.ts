import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isUuid } from '../domain/ids.ts';
import { derivedId } from './derived-id.ts';
import { newId } from './new-id.ts';

describe('derived ids', () => {
  test('a derived id is the same for the same cause, on every machine and in every version of this program', () => {
    expect(derivedId('StepTaken', 'a', 1)).toBe('0c0d75b9-1c43-83ec-b200-05b11add77f8');
  });

  test('a derived id differs wherever its parts or their borders differ', () => {
    const parts = fc.array(fc.oneof(fc.string({ maxLength: 3 }), fc.integer({ min: 0, max: 12 })), { maxLength: 4 });
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        const same = one.length === other.length && one.every((part, i) => String(part) === String(other[i]));
        expect(derivedId('kind', ...one) === derivedId('kind', ...other)).toBe(same);
      }),
      { numRuns: 300 },
    );
    expect(derivedId('kind', 'ab', 'c')).not.toBe(derivedId('kind', 'a', 'bc'));
    expect(derivedId('kind', 'a')).not.toBe(derivedId('kinda'));
  });

  test('a derived id is a UUID of version 8, and a fresh one of version 7 in the order of time', () => {
    const derived = derivedId('kind', 'é');
    expect(isUuid(derived)).toBe(true);
    expect(derived[14]).toBe('8');
    const fresh = [newId<string & never>(), newId<string & never>()];
    expect(fresh.every((id) => isUuid(id) && id[14] === '7')).toBe(true);
    expect(new Set(fresh).size).toBe(2);
  });
});
