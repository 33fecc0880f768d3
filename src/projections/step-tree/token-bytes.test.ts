import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pack } from '../../events/packed.ts';
import { arbitraryTokens } from '../../testing/arbitrary-tokens.ts';
import { tokenBytesOf, tokenViewsOf } from './token-bytes.ts';

function viewsOf(bytes: Buffer) {
  const buffer = new ArrayBuffer(4 + bytes.length);
  new Uint8Array(buffer, 4).set(bytes);
  return tokenViewsOf(buffer, 4);
}
const raw = (text: unknown) => [...Buffer.from(String(text), 'base64')];
const bytesOf = (array: Int32Array | Float32Array | Uint8Array) => [
  ...new Uint8Array(array.buffer, array.byteOffset, array.byteLength),
];

describe('token arrays as bytes', () => {
  test('what training reads of a step is the recorded bytes, whichever arrays it has', () => {
    fc.assert(
      fc.property(arbitraryTokens, (tokens) => {
        const bytes = tokenBytesOf(tokens);
        if (bytes === null) throw new Error('arrays that fit are not kept as bytes');
        const { ids, logProbs, mask } = viewsOf(bytes);
        expect(bytesOf(ids)).toEqual(raw(tokens.ids.bytes));
        expect(logProbs && bytesOf(logProbs)).toEqual(tokens.logProbs && raw(tokens.logProbs.bytes));
        expect(mask && bytesOf(mask)).toEqual(tokens.mask && raw(tokens.mask.bytes));
      }),
    );
  });

  test('a mask of ones takes no bytes', () => {
    const ids = pack('int32', [1, 2, 3]);
    const size = (mask: readonly number[]) => tokenBytesOf({ ids, logProbs: null, mask: pack('uint8', mask) })?.length;
    expect([size([1, 1, 1]), size([1, 0, 1])]).toEqual([20, 23]);
  });

  const ids = pack('int32', [7, 8]);
  const blob = { blob: 'a'.repeat(64), size: 8, mediaType: 'application/octet-stream' };
  test.each([
    ['ids in the blob store', { ids: { ...ids, bytes: blob }, logProbs: null, mask: null }],
    ['ids of another type', { ids: { ...ids, dtype: 'float32' as const }, logProbs: null, mask: null }],
    ['fewer log-probabilities than ids', { ids, logProbs: pack('float32', [-1]), mask: null }],
    ['a length that its bytes do not have', { ids: { ...ids, length: 2 ** 40 }, logProbs: null, mask: null }],
    ['a mask of another type', { ids, logProbs: null, mask: ids }],
    [
      'base64 with bits behind its end',
      { ids: { ...ids, bytes: String(ids.bytes).replace(/.=$/, 'B=') }, logProbs: null, mask: null },
    ],
  ])('%s is kept as it was recorded', (_name, tokens) => {
    expect(tokenBytesOf(tokens)).toBeNull();
  });
});
