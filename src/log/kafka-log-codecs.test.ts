import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import kafkajs from 'kafkajs';
import { compress as lz4 } from 'lz4js';
import { compress } from 'snappyjs';
import {
  GZIP,
  installCodecs,
  LZ4,
  SNAPPY,
  UNPACKED_LIMIT,
  unframeLz4,
  unframeSnappy,
  unframeZstd,
  ZSTD,
} from './kafka-log-codecs.ts';

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const block = (part: string) => compress(new TextEncoder().encode(part));

test('snappy framed by Java clients is read block by block', () => {
  const header = Buffer.from('82534e415050590000000001' + '00000001', 'hex');
  const blocks = ['first ', 'second ', 'third'].map(block).flatMap((bytes) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  expect(text(unframeSnappy(Buffer.concat([header, ...blocks])))).toBe('first second third');
});

test('one bare snappy block of other clients is read', () => {
  expect(text(unframeSnappy(block('a bare block')))).toBe('a bare block');
});

/** Zstandard by hand: a header with or without a window and a declared size, and blocks that each repeat one byte. */
function zstdOf(blocks: readonly number[], { window = 0x58, declared = null as number | null } = {}): Uint8Array {
  const size = Buffer.alloc(declared === null ? 0 : 4);
  if (declared !== null) size.writeUInt32LE(declared);
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, ...(declared === null ? [0x00, window] : [0xa0]), ...size]);
  const parts = blocks.map((length, i) => {
    const block = Buffer.alloc(4);
    block.writeUIntLE((length << 3) | (1 << 1) | Number(i === blocks.length - 1), 0, 3);
    block.write('x', 3);
    return block;
  });
  return Buffer.concat([header, ...parts]);
}

test('zstd is read in frames that declare their size, that declare none, and in several', () => {
  const whole = zstdOf([3, 4], { declared: 7 });
  expect(text(unframeZstd(whole))).toBe('xxxxxxx');
  expect(text(unframeZstd(zstdOf([3, 4])))).toBe('xxxxxxx');
  expect(text(unframeZstd(Buffer.concat([whole, zstdOf([2])])))).toBe('xxxxxxxxx');
});

test('a batch that unpacks to more than the limit is refused in every codec before memory is taken for it', async () => {
  installCodecs();
  const { CompressionCodecs } = kafkajs;
  const unpack = (codec: typeof GZIP | typeof SNAPPY | typeof LZ4 | typeof ZSTD, bytes: Uint8Array) =>
    CompressionCodecs[codec]().decompress(Buffer.from(bytes));
  const bomb = zstdOf(Array<number>(1 + UNPACKED_LIMIT / (128 * 1024)).fill(128 * 1024));
  expect(bomb.length).toBeLessThan(5_000);
  const before = process.memoryUsage().arrayBuffers;
  await expect(unpack(ZSTD, bomb)).rejects.toThrow(/the limit is 134217728; delete it/);
  await expect(unpack(ZSTD, zstdOf([1], { window: 0xa0 }))).rejects.toThrow(/the limit is/); // a window of 1 GiB
  await expect(unpack(ZSTD, zstdOf([1], { declared: 2 ** 32 - 1 }))).rejects.toThrow(/the limit is/);
  await expect(unpack(SNAPPY, Buffer.from('ffffffff0700', 'hex'))).rejects.toThrow(/too big/); // a block that says 2 GiB
  const lz4Frame = Buffer.from(lz4(Buffer.from('short')));
  const sized = Buffer.concat([
    lz4Frame.subarray(0, 4),
    Buffer.from([0x48]),
    lz4Frame.subarray(5, 6),
    Buffer.alloc(8, 0x10),
    lz4Frame.subarray(6),
  ]);
  await expect(unpack(LZ4, sized)).rejects.toThrow(/the limit is/);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(UNPACKED_LIMIT / 2);
  await expect(unpack(GZIP, gzipSync(Buffer.alloc(UNPACKED_LIMIT + 1)))).rejects.toThrow(/larger than/);
});

test('framed blocks of snappy and lz4 share one limit', () => {
  const frame = (blocks: readonly Uint8Array[]) =>
    Buffer.concat([
      Buffer.from('82534e4150505900' + '00000001' + '00000001', 'hex'),
      ...blocks.flatMap((bytes) => {
        const length = Buffer.alloc(4);
        length.writeUInt32BE(bytes.length);
        return [length, bytes];
      }),
    ]);
  const blocks = [block('six by'), block('six by')];
  expect(text(unframeSnappy(frame(blocks), 12))).toBe('six bysix by');
  expect(() => unframeSnappy(frame(blocks), 11)).toThrow(/too big/);
  expect(text(unframeLz4(lz4(Buffer.from('some text'))))).toBe('some text');
});
