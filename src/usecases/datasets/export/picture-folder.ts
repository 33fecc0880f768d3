import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import type { Picture } from '../../../projections/images/draw-picture.ts';
import { DatasetError, reasonOf } from '../dataset-error.ts';
import { type Existing, refuseExisting } from './atomic-file.ts';

/** A reader of folders (`load_dataset`) takes every picture for data, but in folders whose names begin with two underscores. */
const PICTURES = '__images__';

/** Names the folder of the pictures of a file. */
export function picturesPath(out: string): string {
  return join(dirname(out), PICTURES, basename(out));
}

/**
 * Keeps pictures as files `<id>.png` in a folder of a dataset file. The folder appears whole or not at all; without a
 * picture there is none. Who opens it publishes or discards it.
 */
export class PictureFolder {
  readonly #out: string;
  readonly #path: string;
  readonly #partial: string;
  readonly #kept = new Set<string>();

  private constructor(out: string) {
    this.#out = out;
    this.#path = picturesPath(out);
    this.#partial = join(dirname(out), `.${basename(out)}.images.${randomBytes(6).toString('hex')}.partial`);
  }

  /** @throws DatasetError `file-exists`. */
  static async open(out: string, existing: Existing): Promise<PictureFolder> {
    if (existing === 'refuse') await refuseExisting(picturesPath(out));
    return new PictureFolder(out);
  }

  /** How many pictures it holds. */
  get size(): number {
    return this.#kept.size;
  }

  /** Keeps a picture once. Returns its path from the folder of the dataset file. @throws DatasetError `cannot-write`. */
  async keep({ id, png }: Pick<Picture, 'id' | 'png'>): Promise<string> {
    if (!this.#kept.has(id)) {
      await this.#writing(async () => {
        await mkdir(this.#partial, { recursive: true });
        const file = await open(join(this.#partial, `${id}.png`), 'w');
        await writeFile(file, png)
          .then(() => file.sync())
          .finally(() => file.close());
      });
      this.#kept.add(id);
    }
    return `${relative(dirname(this.#out), this.#path)}/${id}.png`;
  }

  /** Renames the folder, in place of one that a file replaced had. */
  async publish(): Promise<void> {
    await this.#writing(async () => {
      const aside = `${this.#partial}.before`;
      const there = await stat(this.#path).catch(() => undefined);
      if (there) await rename(this.#path, aside);
      if (this.#kept.size > 0) {
        await mkdir(dirname(this.#path), { recursive: true });
        await rename(this.#partial, this.#path);
        await syncFolder(dirname(this.#path));
      }
      await syncFolder(dirname(this.#out));
      await rm(aside, { recursive: true, force: true });
      if (there && this.#kept.size === 0) await rmdir(dirname(this.#path)).catch(() => undefined); // others have theirs there
    });
  }

  /** Removes what was written. Harmless after `publish`. */
  async discard(): Promise<void> {
    await rm(this.#partial, { recursive: true, force: true });
  }

  async #writing(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (cause) {
      throw new DatasetError('cannot-write', `cannot write the pictures of ${this.#path}: ${reasonOf(cause)}`, { cause });
    }
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}
