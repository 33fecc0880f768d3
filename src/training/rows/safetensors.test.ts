import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readSafetensors, type Tensor, writeSafetensors } from './safetensors.ts';

const doubles = fc.array(fc.double(), { maxLength: 20 }).map((values) => Float64Array.from(values));
const floats = fc.array(fc.float(), { maxLength: 20 }).map((values) => Float32Array.from(values));
const ints = fc
  .array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { maxLength: 20 })
  .map((values) => Int32Array.from(values));
const bytes = fc.uint8Array({ maxLength: 20 }).map((values) => Uint8Array.from(values));
const tensors = fc
  .array(fc.oneof(doubles, floats, ints, bytes), { maxLength: 6 })
  .map((arrays): Tensor[] => arrays.map((data, i) => ({ name: `t${i}`, shape: [data.length], data })));

describe('safetensors bodies', () => {
  test('a body is read back unchanged, at any offset in memory', () => {
    fc.assert(
      fc.property(
        tensors,
        fc.dictionary(fc.string(), fc.string()),
        fc.integer({ min: 0, max: 9 }),
        (written, metadata, shift) => {
          const whole = Buffer.concat([Buffer.alloc(shift), ...writeSafetensors(written, metadata)]);
          const read = readSafetensors(whole.subarray(shift));
          expect(read.metadata).toEqual(metadata);
          expect([...read.tensors.keys()].sort()).toEqual(written.map(({ name }) => name).sort());
          for (const { name, shape, data } of written) {
            expect(read.tensors.get(name)?.shape).toEqual(shape);
            expect([...(read.tensors.get(name)?.data ?? [])]).toEqual([...data]);
          }
        },
      ),
    );
  });

  test('a body has the bytes of the format: length, header padded to eight with spaces, wide types first', () => {
    const body = Buffer.concat(
      writeSafetensors(
        [
          { name: 'mask', shape: [1], data: Uint8Array.of(7) },
          { name: 'ids', shape: [1, 1], data: Int32Array.of(-2) },
        ],
        {},
      ),
    );
    const length = Number(body.readBigUInt64LE(0));
    expect(length % 8).toBe(0);
    const header = body.subarray(8, 8 + length).toString('utf8');
    expect(JSON.parse(header)).toEqual({
      __metadata__: {},
      ids: { dtype: 'I32', shape: [1, 1], data_offsets: [0, 4] },
      mask: { dtype: 'U8', shape: [1], data_offsets: [4, 5] },
    });
    expect([...body.subarray(8 + length)]).toEqual([0xfe, 0xff, 0xff, 0xff, 7]);
  });

  test('a truncated body and a mismatched shape are refused', () => {
    const body = Buffer.concat(writeSafetensors([{ name: 'a', shape: [2], data: Float64Array.of(1, 2) }], {}));
    for (const length of [0, 7, 20, body.length - 1]) expect(() => readSafetensors(body.subarray(0, length))).toThrow(RangeError);
    expect(() => writeSafetensors([{ name: 'a', shape: [3], data: Float64Array.of(1, 2) }], {})).toThrow(/has 3 elements, not 2/);
  });
});
