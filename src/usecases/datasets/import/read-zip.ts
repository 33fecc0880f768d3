import { type FileHandle, open } from 'node:fs/promises';
import { inflateRawSync } from 'node:zlib';
import { decompress as unzstd } from 'fzstd';
import { DatasetError, reasonOf } from '../dataset-error.ts';

/** A member of a zip, as the directory at its end lists it. */
export interface ZipMember {
  readonly name: string;
  /** Reads its bytes. @throws DatasetError `cannot-read`. */
  read(): Promise<Uint8Array>;
}

const MEMBER = 0x04034b50; // signature of a member's header
const LISTED = 0x02014b50; // of a member in the directory
const END = 0x06054b50; // of the record at the end
const END_SIZE = 22;
const LONGEST_COMMENT = 0xffff;
const BEYOND = 0xffffffff; // a value that only the records of ZIP64 hold
const LIMIT = 256 * 1024 * 1024; // bytes of a member: what becomes one string
const [STORED, DEFLATED, ZSTD] = [0, 8, 93];

/** Returns whether a file is a zip by its first bytes. */
export async function isZip(path: string): Promise<boolean> {
  const handle = await open(path, 'r').catch(() => null); // the reader reports why it cannot be read
  if (handle === null) return false;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    return bytesRead === 4 && (buffer.readUInt32LE(0) === MEMBER || buffer.readUInt32LE(0) === END);
  } catch {
    return false; // a folder
  } finally {
    await handle.close();
  }
}

/**
 * Reads a zip whose members are stored, deflated, or packed by Zstandard (method 93), which no zip library that we know unpacks.
 * Of members of one name the last counts. @throws DatasetError `cannot-read`.
 */
export async function* readZip<T>(path: string, read: (members: readonly ZipMember[]) => AsyncGenerator<T>): AsyncGenerator<T> {
  const handle = await open(path, 'r').catch((cause) => {
    throw cannotRead(path, reasonOf(cause), cause);
  });
  try {
    yield* read(await membersOf(handle, path));
  } finally {
    await handle.close();
  }
}

async function membersOf(handle: FileHandle, path: string): Promise<readonly ZipMember[]> {
  const { size } = await handle.stat();
  const tail = await readAt(
    handle,
    path,
    Math.max(0, size - END_SIZE - LONGEST_COMMENT),
    Math.min(size, END_SIZE + LONGEST_COMMENT),
  );
  let end = tail.length - END_SIZE;
  while (end >= 0 && tail.readUInt32LE(end) !== END) end -= 1;
  if (end < 0) throw cannotRead(path, 'the zip is cut off: it has no directory; the program that wrote it may still run');
  const directory = { size: tail.readUInt32LE(end + 12), at: tail.readUInt32LE(end + 16) };
  if (directory.at === BEYOND || tail.readUInt16LE(end + 10) === 0xffff)
    throw cannotRead(path, 'it is a ZIP64 of 4 GiB or 65,535 members and more, which is not read; write it in parts');
  const listed = await readAt(handle, path, directory.at, directory.size);
  const members = new Map<string, ZipMember>();
  for (let at = 0; at + 46 <= listed.length && listed.readUInt32LE(at) === LISTED; ) {
    const [nameSize, extraSize, commentSize] = [28, 30, 32].map((offset) => listed.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
    ];
    const name = listed.toString('utf8', at + 46, at + 46 + nameSize);
    const place = {
      method: listed.readUInt16LE(at + 10),
      packed: listed.readUInt32LE(at + 20),
      size: listed.readUInt32LE(at + 24),
      at: listed.readUInt32LE(at + 42),
    };
    members.set(name, { name, read: () => readMember(handle, `${path} (${name})`, place) });
    at += 46 + nameSize + extraSize + commentSize;
  }
  return [...members.values()];
}

interface Place {
  readonly method: number;
  readonly packed: number;
  readonly size: number;
  readonly at: number;
}

async function readMember(handle: FileHandle, path: string, { method, packed, size, at }: Place): Promise<Uint8Array> {
  if (size > LIMIT) throw cannotRead(path, `it has ${size} bytes, and at most ${LIMIT} are read`);
  const header = await readAt(handle, path, at, 30);
  if (header.readUInt32LE(0) !== MEMBER) throw cannotRead(path, 'the directory of the zip names a place that holds no member');
  const bytes = await readAt(handle, path, at + 30 + header.readUInt16LE(26) + header.readUInt16LE(28), packed);
  const read = unpacked(path, method, bytes, size);
  if (read.length !== size) throw cannotRead(path, `it has ${read.length} bytes where the directory of the zip says ${size}`);
  return read;
}

function unpacked(path: string, method: number, bytes: Buffer, size: number): Uint8Array {
  try {
    if (method === STORED) return bytes;
    if (method === DEFLATED) return inflateRawSync(bytes, { maxOutputLength: Math.max(1, size) });
    if (method === ZSTD) return unzstd(bytes);
  } catch (cause) {
    throw cannotRead(path, `it cannot be unpacked: ${reasonOf(cause)}`, cause);
  }
  throw cannotRead(path, `it is packed by the method ${method}, and deflate and Zstandard are read`);
}

async function readAt(handle: FileHandle, path: string, at: number, size: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, at);
  if (bytesRead < size) throw cannotRead(path, 'the zip is cut off; it may be incomplete');
  return buffer;
}

function cannotRead(path: string, reason: string, cause?: unknown): DatasetError {
  return new DatasetError('cannot-read', `cannot read ${path}: ${reason}`, { cause });
}
