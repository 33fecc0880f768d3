import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { decompress as unzstd } from 'fzstd';
import kafkajs from 'kafkajs';
import { decompressBound as lz4Bound, decompress as unlz4 } from 'lz4js';
import { uncompress as unsnap } from 'snappyjs';
import { RECORD_LIMIT } from './event-log.ts';

// Node sees only some of the names that this CommonJS package exports; this one must be read off the whole.
const { CompressionCodecs: codecs } = kafkajs;

/** Kafka's numbers of the codecs. */
export const GZIP = 1;
export const SNAPPY = 2;
export const LZ4 = 3;
export const ZSTD = 4;

/** What a batch may unpack to: a few bytes of zeros would otherwise take the memory of every process that reads the topic. */
export const UNPACKED_LIMIT = 64 * RECORD_LIMIT;

/**
 * Teaches kafkajs, for the whole process, to read every codec a broker may keep records in, up to `UNPACKED_LIMIT`: a consumer
 * that meets one it cannot read crashes for good. All but gzip are written in JavaScript and only ever read: we append
 * uncompressed or in gzip.
 */
export function installCodecs(): void {
  const { compress } = codecs[GZIP]();
  codecs[GZIP] = () => ({ compress, decompress: ungzip });
  install(SNAPPY, 'snappy', unframeSnappy);
  install(LZ4, 'lz4', unframeLz4);
  install(ZSTD, 'zstd', unframeZstd);
}

function install(
  codec: typeof SNAPPY | typeof LZ4 | typeof ZSTD,
  name: string,
  decompress: (bytes: Uint8Array) => Uint8Array,
): void {
  codecs[codec] = () => ({
    compress: () => Promise.reject(new Error(`${name} is read here, never written`)),
    decompress: async (buffer: Buffer) => {
      const bytes = decompress(new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength));
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
  });
}

function ungzip(bytes: Buffer, limit = UNPACKED_LIMIT): Promise<Buffer> {
  return promisify(gunzip)(bytes, { maxOutputLength: limit });
}

/** @throws RangeError. */
function checkUnpacked(size: number, limit: number): void {
  if (size > limit)
    throw new RangeError(`a batch of records unpacks to ${size} bytes or more, the limit is ${limit}; delete it from the topic`);
}

const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]); // then two 4-byte versions, then blocks

/** Decompresses Snappy as Java clients frame it (blocks, each behind its length), and as others write it (one bare block). */
export function unframeSnappy(bytes: Uint8Array, limit = UNPACKED_LIMIT): Uint8Array {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!buffer.subarray(0, XERIAL.length).equals(XERIAL)) return unsnap(bytes, limit);
  const blocks: Uint8Array[] = [];
  let size = 0;
  for (let at = XERIAL.length + 8; at < buffer.length; ) {
    const start = at + 4;
    at = start + buffer.readUInt32BE(at);
    const block = unsnap(bytes.subarray(start, at), limit - size);
    size += block.length;
    blocks.push(block);
  }
  return Buffer.concat(blocks);
}

/** @throws RangeError. */
export function unframeLz4(bytes: Uint8Array, limit = UNPACKED_LIMIT): Uint8Array {
  checkUnpacked(lz4Bound(bytes), limit);
  return unlz4(bytes);
}

/** Decompresses Zstandard. @throws RangeError before memory is taken for what frames or windows declare. */
export function unframeZstd(bytes: Uint8Array, limit = UNPACKED_LIMIT): Uint8Array {
  checkUnpacked(zstdBound(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)), limit);
  return unzstd(bytes);
}

const FRAME = 0xfd2fb528;
const RLE = 1;
const COMPRESSED = 2;
const LARGEST_BLOCK = 128 * 1024;

/** Returns what frames of Zstandard unpack to at most, or the window that one needs, by their headers and those of their blocks (RFC 8878). */
function zstdBound(bytes: Buffer): number {
  let size = 0;
  let window = 0;
  for (let at = 0; at < bytes.length; ) {
    if (bytes.readUInt32LE(at) !== FRAME) {
      at += 8 + bytes.readUInt32LE(at + 4); // skippable
      continue;
    }
    const descriptor = bytes.readUInt8(at + 4);
    const isSingle = (descriptor & 0x20) !== 0;
    const sizeBytes = descriptor >> 6 === 0 ? Number(isSingle) : 1 << (descriptor >> 6);
    at += 5;
    if (!isSingle) {
      const byte = bytes.readUInt8(at++);
      const base = 2 ** (10 + (byte >> 3));
      window = Math.max(window, base + (base / 8) * (byte & 7));
    }
    at += [0, 1, 2, 4][descriptor & 3] ?? 0; // the id of a dictionary
    const declared = sizeBytes === 8 ? Number(bytes.readBigUInt64LE(at)) : sizeBytes === 0 ? 0 : bytes.readUIntLE(at, sizeBytes);
    window = Math.max(window, declared);
    at += sizeBytes;
    for (let isLast = false; !isLast; ) {
      const header = bytes.readUIntLE(at, 3);
      const type = (header >> 1) & 3;
      isLast = (header & 1) === 1;
      size += type === COMPRESSED ? LARGEST_BLOCK : header >> 3;
      at += 3 + (type === RLE ? 1 : header >> 3);
    }
    at += (descriptor & 4) === 0 ? 0 : 4; // a checksum
  }
  return Math.max(size, window);
}
