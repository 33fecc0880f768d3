import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../../events/new-id.ts';

const KEPT_MS = 15 * 60_000; // beyond the pause of a client whose connection broke
const KEPT_BYTES = 8 * 2 ** 30; // of all files, the one that was used last not counted
const SWEEP_MS = 60_000;
const FILE = 'data';
const MAKING = '.making';

/** A file that was made, with the manifest of it. */
export interface KeptFile {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** The folder of an installation in which its servers keep files. */
export function keptFolder(home: string): string {
  return join(home, 'exports');
}

/** Removes all that is kept in a folder: a client that reads part of a file reads it to its end. */
export async function dropKept(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => []))
    if (!name.endsWith(MAKING)) await rm(join(folder, name), { recursive: true, force: true });
}

/**
 * Keeps files that were made for a request for a while, so that a client that read a part continues: under the request, by their
 * content. A file that was not read for that long is removed, the oldest ones where they are too large together.
 */
export class KeptFiles {
  readonly #folder: string;
  readonly #timer: NodeJS.Timeout;

  constructor(folder: string) {
    this.#folder = folder;
    void dropKept(folder).catch(() => undefined); // an earlier process left it
    this.#timer = setInterval(() => void this.sweep().catch(() => undefined), SWEEP_MS).unref();
  }

  /** Returns a file that was made for `key` and holds this content. */
  async find(key: string, sha256: string): Promise<KeptFile | undefined> {
    const path = join(this.#folder, `${key}.${sha256}`, FILE);
    const found = await stat(path).catch(() => undefined);
    if (!found) return undefined;
    const now = new Date();
    await utimes(path, now, now).catch(() => undefined);
    return { path, sha256, bytes: found.size };
  }

  /** Makes a file, and keeps it in place of an equal one. @param write writes it, with what belongs to it beside it. */
  async make<Made extends { readonly sha256: string; readonly bytes: number }>(
    key: string,
    write: (path: string) => Promise<Made>,
  ): Promise<Made & KeptFile> {
    const making = join(this.#folder, `${newId()}${MAKING}`);
    await mkdir(making, { recursive: true });
    try {
      const made = await write(join(making, FILE));
      const kept = join(this.#folder, `${key}.${made.sha256}`);
      await rename(making, kept).catch(() => undefined); // an equal one is there, which stays
      await this.sweep();
      return { ...made, path: join(kept, FILE) };
    } finally {
      await rm(making, { recursive: true, force: true });
    }
  }

  /** Removes what was not read for long, and the oldest files beyond `mostBytes`. */
  async sweep(mostBytes = KEPT_BYTES): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    const entries = await Promise.all(names.map((name) => lookAt(join(this.#folder, name))));
    let newer = 0;
    for (const { path, used, bytes } of entries.sort((a, b) => b.used - a.used)) {
      const over = newer > mostBytes && !path.endsWith(MAKING);
      newer += bytes;
      if (over || used < Date.now() - KEPT_MS) await rm(path, { recursive: true, force: true });
    }
  }

  /** Removes what is kept, and ends sweeping. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await dropKept(this.#folder);
  }
}

async function lookAt(path: string) {
  const inside = await readdir(path).catch(() => []);
  const all = await Promise.all(['.', ...inside].map((each) => stat(join(path, each)).catch(() => undefined)));
  return {
    path,
    used: Math.max(...all.map((each) => each?.mtimeMs ?? 0)),
    bytes: all.reduce((sum, each) => sum + (each?.size ?? 0), 0),
  };
}

/** Opens a part of a file to be read; the file may be removed meanwhile. */
export async function openPart(path: string, { from, until }: { readonly from: number; readonly until: number }) {
  const handle = await open(path);
  if (until <= from) {
    await handle.close();
    return null;
  }
  return handle.createReadStream({ start: from, end: until - 1 });
}
