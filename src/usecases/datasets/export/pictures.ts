import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { Db } from '../../../postgres/database.ts';
import { type Picture, PictureUndrawable, pictureReader } from '../../../projections/images/draw-picture.ts';
import { readHistoryImages } from '../../../projections/images/read-history-images.ts';
import type { OfTree } from '../../../projections/of-tree.ts';
import type { PromptsHeld } from '../../../projections/trajectories/select-trajectories.ts';
import { DatasetError } from '../dataset-error.ts';

/** A picture as a step was shown it. */
export interface ShownPicture extends Picture {
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
   * Draws pictures by their ids, in this order. @param steps those whose prompts show them: the factors are theirs, 1 for a
   * picture that is no history of theirs.
   * @throws DatasetError `picture` that names the step and what of the record is damaged.
   */
  of(ids: readonly string[], steps: readonly OfTree[]): Promise<readonly ShownPicture[]>;
}

const KEPT = 32; // pictures of some 20 KB: siblings of a tree show the same, one after the other

/** Opens the pictures of a record. */
export function openPictures(db: Db, blobs: Pick<BlobStore, 'get'>, held: PromptsHeld): Pictures {
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
    any: held.pictures,
    prompts: held.prompts,
    structured: held.structured,
    unshaped,
    async of(ids, steps) {
      const pictures = new Map<string, Picture>();
      for (const id of ids) pictures.set(id, kept.get(id) ?? pictures.get(id) ?? (await draw(id, steps)));
      for (const picture of pictures.values()) {
        kept.set(picture.id, picture);
        for (const oldest of kept.keys()) if (kept.size > KEPT) kept.delete(oldest);
      }
      const histories = await readHistoryImages(db, steps);
      for (const history of histories) if (history.unshaped > 0 && pictures.has(history.id)) unshaped.add(history.id);
      const factors = new Map(histories.map(({ id, factor }) => [id, factor]));
      // set above
      return ids.map((id) => ({ ...(pictures.get(id) as Picture), factor: factors.get(id) ?? 1 }));
    },
  };
}
