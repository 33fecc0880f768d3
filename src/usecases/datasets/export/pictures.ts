import { randomBytes } from 'node:crypto';
import { open, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { Db } from '../../../postgres/database.ts';
import { type Picture, PictureUndrawable, pictureReader } from '../../../projections/images/draw-picture.ts';
import { occurrencesOf, readImagesShown } from '../../../projections/images/read-history-images.ts';
import type { OfTree } from '../../../projections/of-tree.ts';
import type { PromptContents } from '../../../projections/trajectories/select-trajectories.ts';
import { makeFolder } from '../../../runtime/make-folder.ts';
import { DatasetError, reasonOf } from '../dataset-error.ts';
import { type Existing, refuseExisting, syncFolder } from './atomic-file.ts';

/** A picture as a step was shown it. */
export interface ExportedPicture extends Picture {
  /** By which the history of the step was made smaller; two factors may give equal pixels, which have one id. */
  readonly factor: number;
}

/** Draws the pictures of prompts. */
export interface Pictures {
  /** Whether any prompt of what is exported shows a picture: a file has one form for all its rows. */
  readonly any: boolean;
  /** Whether any prompt is recorded, or worded by its run: a file without keeps the form that it always had. */
  readonly prompts: boolean;
  /** Whether any reply or prompt calls tools, holds the result of one, or reasoning. */
  readonly structured: boolean;
  /** Ids of the pictures drawn so far with characters that the published renderer may draw otherwise. */
  readonly unshaped: ReadonlySet<string>;
  /**
   * Draws pictures by their ids, in this order. @param path the steps up to the one whose prompt shows them, the earliest first:
   * the factors are theirs, 1 for a picture that is no history of theirs.
   * @throws DatasetError `picture` that names the step and what of the record is damaged.
   */
  of(ids: readonly string[], path: readonly OfTree[]): Promise<readonly ExportedPicture[]>;
}

const KEPT = 32; // pictures of some 20 KB: siblings of a tree show the same, one after the other

/** Opens the pictures of a record. */
export function openPictures(db: Db, blobs: Pick<BlobStore, 'get'>, contents: PromptContents): Pictures {
  const read = pictureReader({ db, blobs });
  const kept = new Map<string, Picture>();
  const unshaped = new Set<string>();

  async function draw(imageId: string, steps: readonly OfTree[]): Promise<Picture> {
    try {
      return await read({ imageId, steps });
    } catch (error) {
      if (!(error instanceof PictureUndrawable)) throw error;
      throw new DatasetError('picture', `${error.message}, or leave the run out by a filter`, { cause: error });
    }
  }

  return {
    any: contents.pictures,
    prompts: contents.prompts,
    structured: contents.structured,
    unshaped,
    async of(ids, path) {
      const pictures = new Map<string, Picture>();
      for (const id of ids) pictures.set(id, kept.get(id) ?? pictures.get(id) ?? (await draw(id, path)));
      for (const picture of pictures.values()) {
        kept.set(picture.id, picture);
        for (const oldest of kept.keys()) if (kept.size > KEPT) kept.delete(oldest);
      }
      const histories = await readImagesShown(db, ids, path);
      for (const history of histories) if (history.unshaped > 0) unshaped.add(history.id);
      const shown = occurrencesOf(ids, path, histories);
      // set above
      return ids.map((id, i) => ({ ...(pictures.get(id) as Picture), factor: shown[i]?.factor ?? 1 }));
    },
  };
}

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
        await makeFolder(this.#partial);
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
        await makeFolder(dirname(this.#path));
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
