import type { BlobStore } from '../../../blobs/blob-store.ts';
import { encodePng } from '../../../images/png.ts';
import { SegmentCache } from '../../../images/segment-cache.ts';
import type { Db } from '../../../postgres/database.ts';
import {
  findHistoryImages,
  type HistoryImageRecord,
  readHistoryImages,
} from '../../../projections/images/read-history-images.ts';
import { rebuildImage } from '../../../projections/images/rebuild-image.ts';
import { DatasetError } from '../dataset-error.ts';

/** A picture of a prompt as the record draws it. */
export interface Picture {
  /** SHA-256 of size and pixels. */
  readonly id: string;
  /** By which the history was made smaller. */
  readonly factor: number;
  readonly width: number;
  readonly height: number;
  readonly png: Uint8Array;
}

/** Draws the pictures of prompts. */
export interface Pictures {
  /** Whether any prompt of what is exported shows a picture: a file has one form for all its rows. */
  readonly any: boolean;
  /**
   * Draws pictures by their ids, in this order. @param steps those whose prompts show them.
   * @throws DatasetError `picture` that names the step and what of the record is damaged.
   */
  of(ids: readonly string[], steps: readonly string[]): Promise<readonly Picture[]>;
}

const HELD = 32; // pictures of some 20 KB: siblings of a tree show the same, one after the other

/** Opens the pictures of a record. */
export function openPictures(db: Db, blobs: Pick<BlobStore, 'get'>, any: boolean): Pictures {
  const cache = new SegmentCache();
  const held = new Map<string, Picture>();
  const world = { db, blobs, draw: (...drawn: Parameters<SegmentCache['get']>) => cache.get(...drawn).entry.segment };

  async function draw(record: HistoryImageRecord): Promise<Picture> {
    const rebuilt = await rebuildImage(world, record);
    if (rebuilt.kind !== 'image') {
      const what = rebuilt.kind === 'damaged' ? `${rebuilt.what} ${rebuilt.id} ${rebuilt.detail}` : rebuilt.detail;
      throw new DatasetError(
        'picture',
        `the picture ${record.id} that step ${record.stepId} was shown cannot be drawn: ${what}; restore it, or leave the run out by a filter`,
      );
    }
    const { id, factor, width, height } = record;
    return { id, factor, width, height, png: await encodePng(rebuilt.image) };
  }

  return {
    any,
    async of(ids, steps) {
      const missing = [...new Set(ids)].filter((id) => !held.has(id));
      const records = missing.length === 0 ? [] : await recordsOf(db, missing, steps);
      const drawn = new Map<string, Picture>();
      for (const record of records) drawn.set(record.id, await draw(record));
      const pictures = ids.map((id) => {
        const picture = drawn.get(id) ?? held.get(id);
        if (picture) return picture;
        throw new DatasetError(
          'picture',
          `a prompt of the steps ${steps.join(', ')} shows the picture ${id}, which no HistoryRendered on record names; append it, or leave the run out by a filter`,
        );
      });
      for (const picture of drawn.values()) {
        held.set(picture.id, picture);
        for (const oldest of held.keys()) if (held.size > HELD) held.delete(oldest);
      }
      return pictures;
    },
  };
}

/** Finds what was drawn: for these steps where they were shown it, since the factor is said of a step; else anywhere. */
async function recordsOf(db: Db, ids: readonly string[], steps: readonly string[]): Promise<readonly HistoryImageRecord[]> {
  const found = new Map<string, HistoryImageRecord>();
  for (const record of await readHistoryImages(db, steps)) if (ids.includes(record.id)) found.set(record.id, record);
  const others = ids.filter((id) => !found.has(id));
  if (others.length > 0) for (const record of await findHistoryImages(db, others)) found.set(record.id, record);
  return [...found.values()];
}
