import fc from 'fast-check';
import { pack } from '../events/packed.ts';
import type { RecordedTokens } from '../projections/step-tree/token-bytes.ts';

const LONGEST = 60;

function arrayOf(dtype: 'int32' | 'float32', length: number) {
  const size = { minLength: length, maxLength: length };
  return dtype === 'int32'
    ? fc.int32Array(size).map((values) => pack(dtype, values))
    : fc.float32Array(size).map((values) => pack(dtype, values));
}

/** Token arrays of a step that fit each other, with or without each that may be left out. */
export const arbitraryTokens: fc.Arbitrary<RecordedTokens> = fc.nat(LONGEST).chain((length) =>
  fc.record(
    {
      ids: arrayOf('int32', length),
      logProbs: fc.option(arrayOf('float32', length)),
      mask: fc.option(
        fc
          .oneof(fc.constant(new Array<number>(length).fill(1)), fc.array(fc.nat(1), { minLength: length, maxLength: length }))
          .map((values) => pack('uint8', values)),
      ),
      ends: arrayOf('int32', length),
      entropies: arrayOf('float32', length),
    },
    { requiredKeys: ['ids', 'logProbs', 'mask'] },
  ),
);
