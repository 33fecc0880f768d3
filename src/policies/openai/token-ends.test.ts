import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { textsByEnds } from '../../domain/text/texts-by-ends.ts';
import { endsWithin, tokenEnds } from './completion.ts';

const pieces = (...texts: readonly string[]) => texts.map((text) => Buffer.from(text, 'utf8'));

describe('the ends of tokens in a response', () => {
  test('bytes of a text cut anywhere, also within characters, are put together to the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.nat()), (text, cuts) => {
        const bytes = Buffer.from(text, 'utf8');
        const places = [...cuts.map((cut) => cut % (bytes.length + 1)), 0, bytes.length].sort((a, b) => a - b);
        const parts = places.slice(1).map((place, i) => bytes.subarray(places[i], place));
        const ends = tokenEnds(text, parts);
        expect(ends).toHaveLength(parts.length);
        expect(textsByEnds(text, ends ?? []).join('')).toBe(text);
        for (const [i, part] of parts.entries())
          if (!part.includes(0xfffd) && Buffer.from(part.toString('utf8')).equals(part) && isBoundary(text, places[i] ?? 0))
            expect(textsByEnds(text, ends ?? [])[i]).toBe(part.toString('utf8'));
      }),
    );
  });

  test.each<[string, string, readonly (Buffer | null)[], readonly number[] | null]>([
    ['a token that ends the reply is empty', 'go', pieces('go', '<|im_end|>'), [2, 2]],
    ['special tokens that the server left out are empty', 'a b', pieces('<s>', 'a', '<mark>', ' b'), [0, 1, 1, 3]],
    [
      'characters in parts belong to the last of the tokens that engines write as U+FFFD',
      'é🌳!',
      pieces('\u{FFFD}', '\u{FFFD}', '!'),
      [0, 2, 3],
    ],
    ['a text that ends in parts of a character is whole', 'a🌳', pieces('a', '\u{FFFD}', '\u{FFFD}'), [1, 1, 2]],
    ['texts that are others than the response say nothing', 'hello', pieces('hel', 'p'), null],
    ['texts that are a part of the response say nothing', 'hello you', pieces('hello'), null],
    ['a token without a text says nothing of all', 'go', [Buffer.from('go'), null], null],
    ['an empty reply has tokens without text', '', pieces('<|im_end|>'), [0]],
  ])('%s', (_, response, given, wanted) => {
    expect(tokenEnds(response, given)).toEqual(wanted);
  });
});

test('ends are moved to the part of a response that is recorded, and to no other text', () => {
  expect(endsWithin('🌳 go', '🌳 go', [1, 4])).toEqual([1, 4]);
  expect(endsWithin('go', '🌳 go ', [1, 3, 4, 5])).toEqual([0, 1, 2, 2]);
  expect(endsWithin('stay', 'go', [2])).toBeNull();
});

function isBoundary(text: string, byte: number): boolean {
  return Buffer.from(Buffer.from(text, 'utf8').subarray(0, byte).toString('utf8')).length === byte;
}
