import { randomBytes } from 'node:crypto';
import { access, constants, copyFile, link, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { type ObjectStore, objectName, type StoredObject } from './object-store.ts';
import { isMissing, sync, writeSynced, writeWhole } from './whole-file.ts';

const ASIDE = '.removing';
/** What a put that did not end left: the name of the object, and twelve hexadecimal digits. */
const DRAFT = /\.[0-9a-f]{12}$/;

/**
 * Opens a store in a folder, which several processes may share: each object is the file of its name. It is written beside its
 * place, synced and renamed.
 */
export function openFolderObjects(folder: string): ObjectStore {
  const pathOf = (name: string) => join(folder, objectName(name));
  return {
    place: folder,
    check: () => access(folder, constants.W_OK),
    async put(name, bytes, existing) {
      const path = pathOf(name);
      if (existing === 'keep' && (await isPresent(path))) await touch(path, bytes);
      else await writeWhole(path, (draft) => writeSynced(draft, bytes));
    },
    putFile: (name, from) =>
      writeWhole(pathOf(name), async (draft) => {
        await link(from, draft).catch(() => copyFile(from, draft)); // on the same disk no second copy is written
        await sync(draft);
      }),
    async get(name) {
      const path = pathOf(name);
      const bytes = await orAbsent(readFile(path));
      if (bytes !== undefined) return bytes;
      const aside = await findAside(path);
      const left = aside === undefined ? undefined : await readFile(aside).catch(() => undefined);
      return left ?? orAbsent(readFile(path)); // it may be put back meanwhile
    },
    async read(name, { from, until }) {
      const file = await orAbsent(open(pathOf(name)));
      return file?.createReadStream({ start: from, end: until - 1 });
    },
    async stat(name) {
      const path = pathOf(name);
      const stats = (await orAbsent(stat(path))) ?? (await orAbsent(stat((await findAside(path)) ?? path)));
      return stats && { name, bytes: stats.size, putAt: stats.mtimeMs };
    },
    async remove(name, graceMs) {
      const path = pathOf(name);
      const aside = `${path}.${randomBytes(6).toString('hex')}${ASIDE}`;
      const isYoung = async (at: string) => Date.now() - (await stat(at)).mtimeMs < graceMs;
      try {
        if (await isYoung(path)) return false;
        // A put from here on finds it missing and writes it. A put between the look and this shows in its time.
        await rename(path, aside);
        if (await isYoung(aside)) {
          await rename(aside, path);
          return false;
        }
        await rm(aside);
      } catch (error) {
        if (!isMissing(error)) throw error;
        // What a killed removal left aside is the object still. A put that restores one from there finds it young.
        const left = await findAside(path);
        if (left !== undefined && !(await isYoung(left).catch(() => true))) await rm(left, { force: true });
      }
      return !(await isPresent(path)) && (await findAside(path)) === undefined;
    },
    async *list(below) {
      for (const each of await filesBelow(folder, below)) {
        if (each.kind === 'draft') continue;
        if (each.kind === 'aside') await rename(each.path, pathOf(each.name)).catch(ignoreMissing); // of a killed removal
        const found = await orAbsent(stat(pathOf(each.name)));
        if (found) yield { name: each.name, bytes: found.size, putAt: found.mtimeMs } satisfies StoredObject;
      }
    },
    async sweep(graceMs, mode) {
      let [files, bytes] = [0, 0];
      for (const { kind, path } of await filesBelow(folder, '')) {
        const found = kind === 'draft' ? await orAbsent(stat(path)) : undefined;
        if (!found || Date.now() - found.mtimeMs < graceMs) continue;
        files++;
        bytes += found.size;
        if (mode === 'delete') await rm(path, { force: true });
      }
      return { files, bytes };
    },
    addressOf: async () => null,
    close: () => undefined,
  };
}

/**
 * Notes that an object was put again: a removal of what no record refers to leaves it, since an event that names it may be on its
 * way. One that was deleted in this moment is written.
 */
async function touch(path: string, bytes: Uint8Array): Promise<void> {
  const now = new Date();
  try {
    await utimes(path, now, now);
  } catch (error) {
    if (!isMissing(error)) return; // a file of another user: an object that is put again is only kept for longer
    await writeWhole(path, (draft) => writeSynced(draft, bytes));
  }
}

/** Finds what a process that was stopped or killed was about to delete: it is the object until it is gone. */
async function findAside(path: string): Promise<string | undefined> {
  const names = (await orAbsent(readdir(dirname(path)))) ?? [];
  const aside = names.find((name) => name.startsWith(`${basename(path)}.`) && name.endsWith(ASIDE));
  return aside === undefined ? undefined : join(dirname(path), aside);
}

interface FoundFile {
  readonly kind: 'object' | 'draft' | 'aside';
  readonly name: string;
  readonly path: string;
}

async function filesBelow(root: string, below: string): Promise<readonly FoundFile[]> {
  const entries = (await orAbsent(readdir(join(root, below), { recursive: true, withFileTypes: true }))) ?? [];
  return entries.flatMap((entry) => {
    if (!entry.isFile()) return [];
    const path = join(entry.parentPath, entry.name);
    const isAside = path.endsWith(ASIDE);
    const written = isAside ? path.slice(0, -ASIDE.length) : path;
    const isDraft = DRAFT.test(written);
    const name = relative(root, isDraft ? written.replace(DRAFT, '') : written)
      .split(sep)
      .join('/');
    return [{ kind: isAside ? 'aside' : isDraft ? 'draft' : 'object', name, path }];
  });
}

async function isPresent(path: string): Promise<boolean> {
  return (await orAbsent(access(path).then(() => true))) ?? false;
}

async function orAbsent<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}
