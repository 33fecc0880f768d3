import { chmod, mkdir, open, readdir, rename, rm, stat, statfs, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { largest } from '../../domain/extremes.ts';
import { newId } from '../../events/new-id.ts';
import { codeOf, DatasetError } from './dataset-error.ts';
import { cannotWrite } from './export/atomic-file.ts';

const KEPT_MS = 15 * 60_000; // beyond the pause of a client whose connection broke
const MAKING_MS = 6 * 3_600_000; // what another process makes: it was killed
const KEPT_BYTES = 8 * 2 ** 30; // of all files, the one that was used last not counted
const FREE_BYTES = 2 ** 30; // of the disk, which the database may share
const SWEEP_MS = 60_000;
const LOOK_MS = 1_000;
const FILE = 'data';
const KEPT = /^[0-9a-f]{64}\.[0-9a-f]{64}$/;
const MAKING = /^[0-9a-f-]{36}\.making$/;

/** A file that was made, with the manifest of it. */
export interface KeptFile {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** The folder of an installation in which its servers keep files: theirs alone. */
export function keptFolder(home: string): string {
  return join(home, 'kept-exports');
}

/** Removes all that is kept in a folder: a client that reads part of a file reads it to its end. */
export async function dropKept(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) if (KEPT.test(name)) await remove(join(folder, name));
}

/**
 * Keeps files that were made for a request for a while, so that a client that read a part continues: under the request, by their
 * content. A file that was not read for that long is removed, the oldest ones where they are too large together. Several
 * processes may share a folder; each removes what it made when it closes.
 */
export class KeptFiles {
  readonly #folder: string;
  readonly #freeBytes: number;
  readonly #timer: NodeJS.Timeout;
  readonly #closing = new AbortController();
  readonly #making = new Map<string, Promise<unknown>>();
  readonly #own = new Set<string>();

  /** @param freeBytes how much of the disk stays free of what is made. */
  constructor(folder: string, freeBytes = FREE_BYTES) {
    this.#folder = folder;
    this.#freeBytes = freeBytes;
    const sweep = () => void this.sweep().catch(() => undefined);
    sweep(); // an earlier process that was killed left some
    this.#timer = setInterval(sweep, SWEEP_MS).unref();
  }

  /** Returns a file that was made for `key` and holds this content. */
  async find(key: string, sha256: string): Promise<KeptFile | undefined> {
    const path = join(this.#folder, `${key}.${sha256}`, FILE);
    const found = await stat(path).catch(() => undefined);
    if (!found) return undefined;
    await touch(path).catch(() => undefined);
    return { path, sha256, bytes: found.size };
  }

  /**
   * Makes a file, and keeps it in place of an equal one. @param write writes it, until its signal is aborted: by who asks, or as
   * the disk is full. @throws DatasetError `cannot-write`; what `write` throws.
   */
  async make<Made extends { readonly sha256: string; readonly bytes: number }>(
    key: string,
    signal: AbortSignal,
    write: (path: string, signal: AbortSignal) => Promise<Made>,
  ): Promise<Made & KeptFile> {
    const name = `${newId()}.making`;
    const making = join(this.#folder, name);
    const full = new AbortController();
    const look = () => this.#refuseFull().catch((error: unknown) => full.abort(error));
    const timer = setInterval(() => void look(), LOOK_MS);
    const work = async () => {
      try {
        await mkdir(making, { recursive: true, mode: 0o700 });
        await chmod(this.#folder, 0o700);
      } catch (cause) {
        throw cannotWrite(making, cause);
      }
      await look();
      const any = AbortSignal.any([signal, this.#closing.signal, full.signal]);
      any.throwIfAborted();
      const made = await write(join(making, FILE), any);
      for (const beside of await namesIn(making)) if (beside !== FILE) await remove(join(making, beside));
      await chmod(join(making, FILE), 0o600);
      return { ...made, path: await this.#keep(making, `${key}.${made.sha256}`) };
    };
    const working = work().finally(async () => {
      clearInterval(timer);
      await remove(making).catch(() => undefined); // what the writing failed of is what is said
      this.#making.delete(name);
    });
    this.#making.set(name, working);
    const kept = await working;
    await this.sweep(KEPT_BYTES, kept.path);
    return kept;
  }

  /** Renames what was made, unless an equal one is there, which is used from now on. Another process may remove that meanwhile. */
  async #keep(making: string, name: string): Promise<string> {
    const kept = join(this.#folder, name);
    this.#own.add(kept);
    for (let tries = 3; ; tries--) {
      try {
        await rename(making, kept);
        return join(kept, FILE);
      } catch (cause) {
        if (!['EEXIST', 'ENOTEMPTY'].includes(codeOf(cause)) || tries === 0) throw cannotWrite(kept, cause);
      }
      try {
        await touch(join(kept, FILE));
        return join(kept, FILE);
      } catch {
        await remove(kept); // half of one
      }
    }
  }

  async #refuseFull(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#folder);
    if (bavail * bsize < this.#freeBytes)
      throw new DatasetError(
        'cannot-write',
        `less than ${this.#freeBytes} bytes are free where ${this.#folder} is; free some space`,
      );
  }

  /** Removes what was not read for long, and the oldest files beyond `mostBytes`; never `spared`. */
  async sweep(mostBytes = KEPT_BYTES, spared?: string): Promise<void> {
    const names = (await namesIn(this.#folder)).filter((name) => KEPT.test(name) || MAKING.test(name));
    const entries = await Promise.all(names.map((name) => lookAt(join(this.#folder, name), name)));
    let newer = 0;
    for (const { path, name, used, bytes } of entries.sort((a, b) => b.used - a.used)) {
      const isMade = KEPT.test(name);
      const over = isMade && newer > mostBytes;
      newer += bytes;
      if (this.#making.has(name) || join(path, FILE) === spared) continue;
      if (over || used < Date.now() - (isMade ? KEPT_MS : MAKING_MS)) await remove(path);
    }
  }

  /** Ends what is being made and sweeping, and removes what was made here. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await Promise.allSettled(this.#making.values());
    for (const path of this.#own) await remove(path);
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now);
}

async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}

async function lookAt(path: string, name: string) {
  const inside = await namesIn(path);
  const all = await Promise.all(['.', ...inside].map((each) => stat(join(path, each)).catch(() => undefined)));
  return {
    path,
    name,
    used: largest(all.map((each) => each?.mtimeMs ?? 0)),
    bytes: all.reduce((sum, each) => sum + (each?.size ?? 0), 0),
  };
}

/** Opens a part of a file to be read, which may be removed meanwhile; undefined where it was removed before. */
export async function openPart(path: string, { from, until }: { readonly from: number; readonly until: number }) {
  const handle = await open(path).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
  if (!handle) return undefined;
  if (until <= from) {
    await handle.close();
    return null;
  }
  return handle.createReadStream({ start: from, end: until - 1 });
}
