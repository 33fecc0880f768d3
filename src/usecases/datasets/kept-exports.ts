import { chmod, mkdir, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { ObjectStore, StoredObject } from '../../blobs/object-store.ts';
import { newId } from '../../events/new-id.ts';
import { DatasetError } from './dataset-error.ts';
import { cannotWrite } from './export/atomic-file.ts';

const KEPT_MS = 3_600_000; // beyond the download of a client whose connection broke
const MAKING_MS = 6 * 3_600_000; // what another process makes: it was killed
const KEPT_BYTES = 8 * 2 ** 30; // of all files, the newest one not counted
const FREE_BYTES = 2 ** 30; // of the disk, which the database may share
const SWEEP_MS = 60_000;
const LOOK_MS = 1_000;
const FILE = 'data';
const KEPT = /^exports\/[0-9a-f]{64}\.[0-9a-f]{64}$/;
const MAKING = /^[0-9a-f-]{36}\.making$/;
const FOLDER = 'exports/';

/** A file that was made, as the store of objects has it. */
export interface KeptFile {
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** Removes all files that servers keep. */
export async function dropKept(objects: ObjectStore): Promise<void> {
  for (const { name } of await keptIn(objects)) await objects.remove(name, 0);
}

/**
 * Keeps files that were made for a request in the store of objects for a while, so that a client that read a part continues, at
 * any server: under the request, by their content. A file is removed an hour after it was made, the oldest ones earlier if they
 * are too large together.
 */
export class KeptFiles {
  readonly #objects: ObjectStore;
  readonly #scratch: string;
  readonly #freeBytes: number;
  readonly #timer: NodeJS.Timeout;
  readonly #closing = new AbortController();
  readonly #making = new Map<string, Promise<unknown>>();

  /** @param scratch folder in which files are while they are made. @param freeBytes how much of its disk stays free. */
  constructor(objects: ObjectStore, scratch: string, freeBytes = FREE_BYTES) {
    this.#objects = objects;
    this.#scratch = scratch;
    this.#freeBytes = freeBytes;
    const sweep = () => void this.sweep().catch(() => undefined);
    sweep(); // an earlier process left some
    this.#timer = setInterval(sweep, SWEEP_MS).unref();
  }

  /** Returns a file that was made for `key` and holds this content. */
  async find(key: string, sha256: string): Promise<KeptFile | undefined> {
    const name = nameOf(key, sha256);
    const stored = await this.#objects.stat(name);
    return stored && { name, sha256, bytes: stored.bytes };
  }

  /**
   * Makes a file, and keeps it in place of an equal one. @param write writes it, until its signal is aborted: by the client, or as
   * the disk is full. @throws DatasetError `cannot-write`; what `write` throws.
   */
  async make<Made extends { readonly sha256: string; readonly bytes: number }>(
    key: string,
    signal: AbortSignal,
    write: (path: string, signal: AbortSignal) => Promise<Made>,
  ): Promise<Made & KeptFile> {
    const folder = `${newId()}.making`;
    const making = join(this.#scratch, folder);
    const full = new AbortController();
    const look = () => this.#refuseFull().catch((error: unknown) => full.abort(error));
    const timer = setInterval(() => void look(), LOOK_MS);
    const work = async () => {
      try {
        await mkdir(making, { recursive: true, mode: 0o700 });
        await chmod(this.#scratch, 0o700);
      } catch (cause) {
        throw cannotWrite(making, cause);
      }
      await look();
      const any = AbortSignal.any([signal, this.#closing.signal, full.signal]);
      any.throwIfAborted();
      const made = await write(join(making, FILE), any);
      await chmod(join(making, FILE), 0o600);
      const name = nameOf(key, made.sha256);
      await this.#objects.putFile(name, join(making, FILE), any);
      return { ...made, name };
    };
    const working = work().finally(async () => {
      clearInterval(timer);
      await rm(making, { recursive: true, force: true }).catch(() => undefined); // why the writing failed is what is reported
      this.#making.delete(folder);
    });
    this.#making.set(folder, working);
    const kept = await working;
    await this.sweep(KEPT_BYTES, kept.name);
    return kept;
  }

  /** Opens a part of a file, null for an empty one; undefined where it was removed meanwhile. */
  async open(
    { name }: KeptFile,
    { from, until }: { readonly from: number; readonly until: number },
  ): Promise<Readable | null | undefined> {
    if (until > from) return this.#objects.read(name, { from, until });
    return (await this.#objects.stat(name)) && null;
  }

  /** Returns from where a client may read a file without this server; null where it cannot. */
  addressOf({ name }: KeptFile): Promise<URL | null> {
    return this.#objects.addressOf(name, KEPT_MS);
  }

  async #refuseFull(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#scratch);
    if (bavail * bsize < this.#freeBytes)
      throw new DatasetError(
        'cannot-write',
        `less than ${this.#freeBytes} bytes are free where ${this.#scratch} is; free some space`,
      );
  }

  /** Removes what is old, and the oldest files beyond `mostBytes`; never `spared`. */
  async sweep(mostBytes = KEPT_BYTES, spared?: string): Promise<void> {
    let newer = 0;
    for (const { name, bytes, putAt } of [...(await keptIn(this.#objects))].sort((a, b) => b.putAt - a.putAt)) {
      const isOver = newer > mostBytes || putAt < Date.now() - KEPT_MS;
      newer += bytes;
      if (isOver && name !== spared) await this.#objects.remove(name, 0);
    }
    for (const name of await readdir(this.#scratch).catch(() => [])) {
      const path = join(this.#scratch, name);
      if (!MAKING.test(name) || this.#making.has(name)) continue;
      const changed = (
        await stat(join(path, FILE))
          .catch(() => stat(path))
          .catch(() => undefined)
      )?.mtimeMs;
      if (changed !== undefined && changed < Date.now() - MAKING_MS) await rm(path, { recursive: true, force: true });
    }
  }

  /** Ends what is being made, and sweeping. What is kept stays, for clients that continue at another server. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await Promise.allSettled(this.#making.values());
  }
}

function nameOf(key: string, sha256: string): string {
  return `${FOLDER}${key}.${sha256}`;
}

async function keptIn(objects: ObjectStore): Promise<readonly StoredObject[]> {
  const kept: StoredObject[] = [];
  for await (const object of objects.list(FOLDER)) if (KEPT.test(object.name)) kept.push(object);
  return kept;
}
