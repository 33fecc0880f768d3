import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pack, unpack, unpackIds } from './packed.ts';

describe('packed arrays', () => {
  test.each([
    ['int32', fc.int32Array(), (n: number) => n],
    ['float32', fc.float32Array(), Math.fround],
    ['uint8', fc.uint8Array(), (n: number) => n],
  ] as const)('arrays of %s are read back bit for bit', (dtype, arbitrary, rounded) => {
    fc.assert(
      fc.property(arbitrary, (values) => {
        const packed = pack(dtype, values);
        expect(packed).toMatchObject({ dtype, length: values.length });
        const back = unpack(packed);
        expect(back).toEqual([...values].map(rounded));
        expect(pack(dtype, back)).toEqual(packed);
        const { bytes } = packed;
        if (typeof bytes === 'string') expect(unpack({ ...packed, bytes: BLOB }, Buffer.from(bytes, 'base64'))).toEqual(back);
      }),
    );
  });

  test('packed arrays are little-endian on every machine', () => {
    expect(pack('int32', [1, -2])).toEqual({
      dtype: 'int32',
      length: 2,
      bytes: Buffer.from([1, 0, 0, 0, 254, 255, 255, 255]).toString('base64'),
    });
    expect(pack('float32', [1]).bytes).toBe(Buffer.from([0, 0, 128, 63]).toString('base64'));
  });

  test.each([
    ['a token id beyond 32 bits', 'int32', [2 ** 31]],
    ['a mask beyond a byte', 'uint8', [256]],
    ['a negative mask', 'uint8', [-1]],
  ] as const)('packing refuses %s', (_name, dtype, values) => {
    expect(() => pack(dtype, values)).toThrow(/out of range/);
  });

  test('token ids are read into an array of their own as they are read one by one, from bytes of their own too', () => {
    fc.assert(
      fc.property(fc.int32Array(), (values) => {
        const packed = pack('int32', values);
        const raw = Buffer.from(String(packed.bytes), 'base64');
        expect([unpackIds(packed), unpackIds({ ...packed, bytes: BLOB }, raw)]).toEqual(
          [values, values].map((v) => Int32Array.from(v)),
        );
      }),
    );
    expect(unpackIds(pack('uint8', [1, 2]))).toEqual(Int32Array.from([1, 2]));
    expect(() => unpackIds({ ...pack('int32', [1, 2]), length: 3 })).toThrow('3 int32 need 12 bytes, got 8');
  });

  test('bytes that do not match their length, or are stored elsewhere, are refused', () => {
    const packed = pack('int32', [1, 2]);
    expect(() => unpack({ ...packed, length: 3 })).toThrow('3 int32 need 12 bytes, got 8');
    expect(() => unpack(packed, Buffer.alloc(7))).toThrow('2 int32 need 8 bytes, got 7');
    expect(() => unpack({ ...packed, bytes: BLOB })).toThrow('lie in the blob store');
  });
});

const BLOB = { blob: 'a'.repeat(64), size: 1, mediaType: 'application/octet-stream' };
