import { decompress as unzstd } from 'fzstd';
import kafkajs from 'kafkajs';
import { decompress as unlz4 } from 'lz4js';
import { uncompress as unsnap } from 'snappyjs';

// Node sees only some of the names that this CommonJS package exports; this one must be read off the whole.
const { CompressionCodecs: codecs } = kafkajs;

/** Kafka's numbers of the codecs; kafkajs brings gzip (1) along. */
export const SNAPPY = 2;
export const LZ4 = 3;
export const ZSTD = 4;

/**
 * Teaches kafkajs, for the whole process, to read every codec a broker may keep records in: a consumer that meets one it cannot
 * read crashes for good. They are written in JavaScript and only ever read: we append uncompressed or in gzip.
 */
export function installCodecs(): void {
  install(SNAPPY, 'snappy', unframeSnappy);
  install(LZ4, 'lz4', (bytes) => unlz4(bytes));
  install(ZSTD, 'zstd', (bytes) => unzstd(bytes));
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

const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]); // then two 4-byte versions, then blocks

/** Decompresses Snappy as Java clients frame it (blocks, each behind its length), and as others write it (one bare block). */
export function unframeSnappy(bytes: Uint8Array): Uint8Array {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!buffer.subarray(0, XERIAL.length).equals(XERIAL)) return unsnap(bytes);
  const blocks: Uint8Array[] = [];
  for (let at = XERIAL.length + 8; at < buffer.length; ) {
    const start = at + 4;
    at = start + buffer.readUInt32BE(at);
    blocks.push(unsnap(bytes.subarray(start, at)));
  }
  return Buffer.concat(blocks);
}
