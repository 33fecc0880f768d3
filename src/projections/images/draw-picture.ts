import type { BlobStore } from '../../blobs/blob-store.ts';
import { encodePng } from '../../images/png.ts';
import { SegmentCache } from '../../images/segment-cache.ts';
import type { Db } from '../../postgres/database.ts';
import { findHistoryImage, type HistoryImageRecord, readHistoryImages } from './read-history-images.ts';
import { rebuildImage } from './rebuild-image.ts';

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

/** The record does not give a picture that a step was shown; the message names the step and what is damaged. */
export class PictureUndrawable extends Error {
  override readonly name = 'PictureUndrawable';
}

/** Draws a picture. @param steps those whose prompts show it. @throws PictureUndrawable. */
export type PictureReader = (shown: { readonly imageId: string; readonly steps: readonly string[] }) => Promise<Picture>;

/** Draws pictures of prompts from the record; segments that they share are drawn once. */
export function pictureReader({ db, blobs }: { readonly db: Db; readonly blobs: Pick<BlobStore, 'get'> }): PictureReader {
  const cache = new SegmentCache();
  const world = { db, blobs, draw: (...drawn: Parameters<SegmentCache['get']>) => cache.get(...drawn).entry.segment };
  return async ({ imageId, steps }) => {
    const record = await recordOf(db, imageId, steps);
    if (!record)
      throw new PictureUndrawable(
        `the prompt of step ${steps.join(', ')} shows the picture ${imageId}, which no HistoryRendered on record names; append it`,
      );
    const rebuilt = await rebuildImage(world, record);
    if (rebuilt.kind !== 'image') {
      const what = rebuilt.kind === 'damaged' ? `${rebuilt.what} ${rebuilt.id} ${rebuilt.detail}` : rebuilt.detail;
      throw new PictureUndrawable(
        `the picture ${imageId} that step ${record.stepId} was shown cannot be drawn: ${what}; restore it`,
      );
    }
    const { id, factor, width, height } = record;
    return { id, factor, width, height, png: await encodePng(rebuilt.image) };
  };
}

/** What the steps themselves were shown comes first, since the factor is recorded with a step; else it was drawn elsewhere. */
async function recordOf(db: Db, imageId: string, steps: readonly string[]): Promise<HistoryImageRecord | undefined> {
  const own = (await readHistoryImages(db, steps)).find(({ id }) => id === imageId);
  return own ?? findHistoryImage(db, imageId);
}
