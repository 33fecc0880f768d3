import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readZip } from './read-zip.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-zip-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function contentsOf(zip: Buffer): Promise<string[]> {
  const path = join(folder, 'file.zip');
  await writeFile(path, zip);
  const contents: string[] = [];
  const read = readZip(path, async function* readAll(members) {
    for (const member of members) yield Buffer.from(await member.read()).toString();
  });
  for await (const content of read) contents.push(content);
  return contents;
}

const content = Buffer.from('content');
const plain = { name: 'a.json', method: 0, bytes: content, crc: crc32(content), size: content.length, flags: 0 };

/** Writes a zip of one member. @param packed is the packed size that its directory declares. */
function zipOf(
  { name, method, bytes, crc, size, flags }: Omit<typeof plain, 'bytes'> & { readonly bytes: Buffer },
  packed = bytes.length,
): Buffer {
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(name.length, 26);
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(flags, 8);
  entry.writeUInt16LE(method, 10);
  entry.writeUInt32LE(crc, 16);
  entry.writeUInt32LE(packed, 20);
  entry.writeUInt32LE(size, 24);
  entry.writeUInt16LE(name.length, 28);
  const member = Buffer.concat([header, Buffer.from(name), bytes]);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(entry.length + name.length, 12);
  end.writeUInt32LE(member.length, 16);
  return Buffer.concat([member, entry, Buffer.from(name), end]);
}

/** A frame of Zstandard: `blocks` times 128 KiB of one letter, each in 4 bytes. */
function zstdRuns(blocks: number): Buffer {
  const run = (isLast: number) => Buffer.from([2 | isLast, 0, 16, 0x61]);
  return Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58]),
    ...Array.from({ length: blocks }, (_, i) => run(i === blocks - 1 ? 1 : 0)),
  ]);
}

describe('reading a zip', () => {
  test('a member is read whether it is stored, deflated or packed by Zstandard', async () => {
    const run = Buffer.alloc(2 * 128 * 1024, 'a');
    expect(await contentsOf(zipOf(plain))).toEqual(['content']);
    expect(await contentsOf(zipOf({ ...plain, method: 8, bytes: deflateRawSync(content) }))).toEqual(['content']);
    expect(await contentsOf(zipOf({ ...plain, method: 93, bytes: zstdRuns(2), size: run.length, crc: crc32(run) }))).toEqual([
      run.toString(),
    ]);
  });

  test('a member that expands to more than its directory declares takes no memory for the rest', async () => {
    const before = process.memoryUsage().arrayBuffers;
    await expect(contentsOf(zipOf({ ...plain, method: 93, bytes: zstdRuns(1000), size: 100 }))).rejects.toThrow('CRC-32');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
    await expect(contentsOf(zipOf({ ...plain, method: 8, bytes: deflateRawSync(Buffer.alloc(1e6)), size: 100 }))).rejects.toThrow(
      'cannot be unpacked',
    );
  });

  test('a member whose bytes do not have the checksum of the directory is refused by name', async () => {
    await expect(contentsOf(zipOf({ ...plain, bytes: Buffer.from('consent') }))).rejects.toThrow('(a.json): it is damaged');
  });

  test('an encrypted member is refused by name', async () => {
    await expect(contentsOf(zipOf({ ...plain, flags: 1 }))).rejects.toThrow('(a.json): it is encrypted');
  });

  test('a directory that lists fewer members than its end record counts is refused', async () => {
    const zip = zipOf(plain);
    const broken = Buffer.from(zip);
    broken.writeUInt32LE(0, zip.length - 22 - 46 - plain.name.length);
    await expect(contentsOf(broken)).rejects.toThrow('the directory of the zip is damaged: it lists 0 of 1 members');
    const longName = Buffer.from(zip);
    longName.writeUInt16LE(500, zip.length - 22 - 46 - plain.name.length + 28);
    await expect(contentsOf(longName)).rejects.toThrow('the directory of the zip is damaged');
  });

  test('sizes beyond the end of the file are refused before memory is taken for them', async () => {
    const before = process.memoryUsage().arrayBuffers;
    await expect(contentsOf(zipOf(plain, 200 * 1024 * 1024))).rejects.toThrow('the zip is cut off');
    const zip = zipOf(plain);
    zip.writeUInt32LE(0xf0000000, zip.length - 22 + 12);
    await expect(contentsOf(zip)).rejects.toThrow('the zip is cut off');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1024 * 1024);
  });
});
