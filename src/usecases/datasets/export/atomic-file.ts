import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { openSha256 } from '../../../digest/sha256.ts';
import { makeFolder } from '../../../runtime/make-folder.ts';
import { codeOf, DatasetError, reasonOf } from '../dataset-error.ts';
import { manifestPath } from './manifest.ts';

const BUFFER = 256 * 1024; // bytes per write call: larger gains nothing, smaller costs calls
const ABANDONED_MS = 3_600_000; // a partial file that nobody wrote to for an hour was left by a killed export

/** Whether a file that is already there may be replaced. */
export type Existing = 'refuse' | 'replace';

export interface SealedFile {
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Writes a file that appears under its name whole or not at all: it grows under a hidden name in the same folder, `seal` makes it
 * durable, `publish` renames it. Who is killed before leaves nothing under the name. Who opens it publishes or discards it.
 */
export class AtomicFile {
  readonly path: string;
  readonly #partial: string;
  readonly #handle: FileHandle;
  readonly #hash = openSha256();
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #bytes = 0;

  private constructor(path: string, partial: string, handle: FileHandle) {
    this.path = path;
    this.#partial = partial;
    this.#handle = handle;
  }

  /** Opens a file for writing. @throws DatasetError `file-exists` | `cannot-write`, before anything is written. */
  static async open(path: string, existing: Existing): Promise<AtomicFile> {
    if (existing === 'refuse') await refuseExisting(path);
    await removeAbandoned(path);
    const partial = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.partial`);
    try {
      return new AtomicFile(path, partial, await open(partial, 'wx'));
    } catch (cause) {
      throw cannotWrite(path, cause);
    }
  }

  /** Appends text (UTF-8) or bytes. Resolves at once while the buffer has room. */
  async write(data: string | Uint8Array): Promise<void> {
    // A copy: the caller may reuse its bytes before they reach the disk.
    const bytes = Buffer.from(data);
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= BUFFER) await this.#flush();
  }

  /** Makes the content durable under the hidden name. Returns its size and digest. */
  async seal(): Promise<SealedFile> {
    await this.#flush();
    try {
      await this.#handle.sync();
      await this.#handle.close();
    } catch (cause) {
      throw cannotWrite(this.path, cause);
    }
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  /** Returns the sealed file its name, durably. */
  async publish(): Promise<void> {
    try {
      await rename(this.#partial, this.path);
      await syncFolder(dirname(this.path));
    } catch (cause) {
      throw cannotWrite(this.path, cause);
    }
  }

  /** Removes what was written. Harmless after `publish`. */
  async discard(): Promise<void> {
    await this.#handle.close().catch(() => undefined);
    await rm(this.#partial, { force: true });
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    try {
      for (let at = 0; at < bytes.length; ) at += (await this.#handle.write(bytes, at)).bytesWritten;
    } catch (cause) {
      throw cannotWrite(this.path, cause);
    }
  }
}

/** @throws DatasetError `file-exists` when the name is taken. */
export async function refuseExisting(path: string): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there) throw new DatasetError('file-exists', `${path} is already there; choose another name, or replace it with --force`);
}

/** Removes what an earlier process left half-written next to a path. */
export async function removeAbandoned(path: string): Promise<void> {
  const names = await readdir(dirname(path)).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(`.${basename(path)}.`) || !name.endsWith('.partial')) continue;
    const partial = join(dirname(path), name);
    const touched = await stat(partial).catch(() => undefined);
    if (touched && Date.now() - touched.mtimeMs > ABANDONED_MS) await rm(partial, { recursive: true, force: true });
  }
}

/** Makes the names of a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}

/** Makes the error of a file that cannot be written, with the remedy. */
export function cannotWrite(path: string, cause: unknown): DatasetError {
  const remedy: Readonly<Record<string, string>> = {
    ENOENT: 'the folder does not exist; create it first',
    ENOTDIR: 'a part of the path is a file, not a folder',
    EACCES: 'the folder may not be written to; choose another one or change its permissions',
    EPERM: 'the folder may not be written to; choose another one or change its permissions',
    EROFS: 'the file system is read-only; choose another folder',
    ENOSPC: 'the disk is full; free some space or choose another disk',
    EDQUOT: 'the disk quota is used up; free some space or choose another disk',
    EFBIG: 'the file may not grow further (a limit of the system or the file system)',
    EISDIR: 'it is a folder; name a file',
  };
  const reason = remedy[codeOf(cause)] ?? reasonOf(cause);
  return new DatasetError('cannot-write', `cannot write ${path}: ${reason}`, { cause });
}

/**
 * Publishes a sealed file and its manifest: the data first, then its manifest; a manifest that belongs to the file replaced
 * goes before.
 */
export async function publishWithManifest(file: AtomicFile, manifest: string, existing: Existing): Promise<void> {
  const path = manifestPath(file.path);
  const folder = dirname(path);
  const made = await makeFolder(folder).catch((cause) => {
    throw cannotWrite(path, cause);
  });
  const manifestFile = await AtomicFile.open(path, existing);
  try {
    await manifestFile.write(manifest);
    await manifestFile.seal();
    if (existing === 'refuse') await refuseExisting(file.path);
    await rm(path, { force: true });
    await file.publish();
    await manifestFile.publish();
  } finally {
    await manifestFile.discard();
    if (made !== undefined) await rmdir(folder).catch(() => undefined); // of an export that ended here: it is empty
  }
}

/** @throws DatasetError `file-exists` when a manifest of the name is there. */
export async function refuseManifest(out: string): Promise<void> {
  await refuseExisting(manifestPath(out));
}
