import { type FileHandle, open } from 'node:fs/promises';
import { crc32, inflateRawSync } from 'node:zlib';
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
const ENTRY_SIZE = 46; // of the directory, without its name, extra field and comment
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
    const { size } = await handle.stat();
    yield* read(await membersOf({ path, size, handle }));
  } finally {
    await handle.close();
  }
}

interface Zip {
  readonly path: string;
  readonly size: number;
  readonly handle: FileHandle;
}

async function membersOf(zip: Zip): Promise<readonly ZipMember[]> {
  const { path, size } = zip;
  const tailSize = Math.min(size, END_SIZE + LONGEST_COMMENT);
  const tail = await readAt(zip, path, size - tailSize, tailSize);
  let end = tail.length - END_SIZE;
  while (end >= 0 && tail.readUInt32LE(end) !== END) end -= 1;
  if (end < 0) throw cannotRead(path, 'the zip is cut off: it has no directory; the program that wrote it may still run');
  const directory = { entries: tail.readUInt16LE(end + 10), size: tail.readUInt32LE(end + 12), at: tail.readUInt32LE(end + 16) };
  if (directory.at === BEYOND || directory.entries === 0xffff)
    throw cannotRead(path, 'it is a ZIP64 of 4 GiB or 65,535 members and more, which is not read; write it in parts');
  const listed = await readAt(zip, path, directory.at, directory.size);
  const members = new Map<string, ZipMember>();
  let [entries, at] = [0, 0];
  while (at + ENTRY_SIZE <= listed.length && listed.readUInt32LE(at) === LISTED) {
    const nameEnd = at + ENTRY_SIZE + listed.readUInt16LE(at + 28);
    const name = listed.toString('utf8', at + ENTRY_SIZE, nameEnd);
    const entry = {
      isEncrypted: (listed.readUInt16LE(at + 8) & 1) === 1,
      method: listed.readUInt16LE(at + 10),
      crc: listed.readUInt32LE(at + 16),
      packed: listed.readUInt32LE(at + 20),
      size: listed.readUInt32LE(at + 24),
      at: listed.readUInt32LE(at + 42),
    };
    members.set(name, { name, read: () => readMember(zip, `${path} (${name})`, entry) });
    at = nameEnd + listed.readUInt16LE(at + 30) + listed.readUInt16LE(at + 32);
    entries += 1;
  }
  // a member that is passed over would be a sample less, without a word
  if (entries !== directory.entries || at > listed.length)
    throw cannotRead(path, `the directory of the zip is damaged: it lists ${entries} of ${directory.entries} members`);
  return [...members.values()];
}

interface Entry {
  readonly isEncrypted: boolean;
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly at: number;
}

async function readMember(zip: Zip, path: string, entry: Entry): Promise<Uint8Array> {
  if (entry.isEncrypted) throw cannotRead(path, 'it is encrypted; write the zip without a password');
  const most = Math.max(entry.size, entry.packed);
  if (most > LIMIT) throw cannotRead(path, `it has ${most} bytes, and at most ${LIMIT} are read`);
  const header = await readAt(zip, path, entry.at, 30);
  if (header.readUInt32LE(0) !== MEMBER) throw cannotRead(path, 'the directory of the zip names a place that holds no member');
  const bytes = await readAt(zip, path, entry.at + 30 + header.readUInt16LE(26) + header.readUInt16LE(28), entry.packed);
  const read = unpacked(path, entry, bytes);
  if (read.length !== entry.size)
    throw cannotRead(path, `it has ${read.length} bytes where the directory of the zip says ${entry.size}`);
  if (crc32(read) !== entry.crc) throw cannotRead(path, 'it is damaged: its bytes do not have the CRC-32 of the directory');
  return read;
}

/** Unpacks at most the bytes that the directory declares. */
function unpacked(path: string, { method, size }: Entry, bytes: Buffer): Uint8Array {
  try {
    if (method === STORED) return bytes;
    if (method === DEFLATED) return inflateRawSync(bytes, { maxOutputLength: Math.max(1, size) });
    if (method === ZSTD) return unzstd(bytes, new Uint8Array(size)); // bytes beyond its end are dropped or refused
  } catch (cause) {
    throw cannotRead(path, `it cannot be unpacked: ${reasonOf(cause)}`, cause);
  }
  throw cannotRead(path, `it is packed by the method ${method}, and deflate and Zstandard are read`);
}

async function readAt(zip: Zip, path: string, at: number, size: number): Promise<Buffer> {
  const cutOff = 'the zip is cut off; it may be incomplete';
  if (at + size > zip.size) throw cannotRead(path, cutOff); // before memory is taken for what a damaged zip declares
  const { buffer, bytesRead } = await zip.handle.read(Buffer.alloc(size), 0, size, at);
  if (bytesRead < size) throw cannotRead(path, cutOff);
  return buffer;
}

function cannotRead(path: string, reason: string, cause?: unknown): DatasetError {
  return new DatasetError('cannot-read', `cannot read ${path}: ${reason}`, { cause });
}
