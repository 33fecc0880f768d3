import type { BlobStore } from '../../blobs/blob-store.ts';
import { encodePng } from '../../images/png.ts';
import { SegmentCache } from '../../images/segment-cache.ts';
import type { Db } from '../../postgres/database.ts';
import type { OfTree } from '../of-tree.ts';
import { findPicture, findPictureOfTrees, openPicture, type PictureRecord } from '../pictures/read-pictures.ts';
import { findHistoryImage, type HistoryImageRecord, readImagesShown } from './read-history-images.ts';
import { rebuildImage } from './rebuild-image.ts';

/** A picture of a prompt as the record draws it: what its id names, and nothing of the steps that were shown it. */
export interface Picture {
  /** SHA-256 of size and pixels. */
  readonly id: string;
  readonly width: number;
  readonly height: number;
  readonly png: Uint8Array;
}

/** The record does not give a picture that a step was shown; the message names the step and what is damaged. */
export class PictureUndrawable extends Error {
  override readonly name = 'PictureUndrawable';
}

/** Draws a picture. @param steps those whose prompts show it. @throws PictureUndrawable. */
export type PictureReader = (shown: { readonly imageId: string; readonly steps: readonly OfTree[] }) => Promise<Picture>;

/**
 * Draws pictures of prompts from the record; segments that they share are drawn once. @param keys where the keys of streams lie;
 * `db` unless that shows the rows of some projects alone.
 */
export function pictureReader({
  db,
  blobs,
  keys = db,
}: {
  readonly db: Db;
  readonly blobs: Pick<BlobStore, 'get'>;
  readonly keys?: Db;
}): PictureReader {
  const cache = new SegmentCache();
  const world = { db, keys, blobs, draw: (...drawn: Parameters<SegmentCache['get']>) => cache.get(...drawn).entry.segment };
  return async ({ imageId, steps }) => {
    const record = await recordOf(db, imageId, steps);
    const seen = record
      ? undefined
      : ((await findPictureOfTrees(db, imageId, [...new Set(steps.map(({ treeId }) => treeId))])) ??
        (await findPicture(db, imageId)));
    if (seen) return seenPicture(seen, blobs);
    if (!record)
      throw new PictureUndrawable(
        `the prompt of step ${steps.at(-1)?.id} shows the picture ${imageId}, which no history and no observation on record holds; append it`,
      );
    const rebuilt = await rebuildImage(world, record);
    if (rebuilt.kind !== 'image') {
      const what = rebuilt.kind === 'damaged' ? `${rebuilt.what} ${rebuilt.id} ${rebuilt.detail}` : rebuilt.detail;
      throw new PictureUndrawable(
        `the picture ${imageId} that step ${record.stepId} was shown cannot be drawn: ${what}; restore it`,
      );
    }
    const { id, width, height } = record;
    return { id, width, height, png: await encodePng(rebuilt.image) };
  };
}

/** A picture of an observation is on record as it is. @throws PictureUndrawable where it is not any more. */
async function seenPicture(record: PictureRecord, blobs: Pick<BlobStore, 'get'>): Promise<Picture> {
  const picture = await openPicture(record, (sha256) => blobs.get(sha256));
  const what = `the picture ${record.imageId} of step ${record.stepId}`;
  if (picture.kind === 'forgotten') throw new PictureUndrawable(`${what} is forgotten; nothing brings it back`);
  if (picture.kind === 'damaged') throw new PictureUndrawable(`${what} ${picture.detail}; restore it`);
  const { imageId: id, width, height, png } = picture.picture;
  return { id, width, height, png };
}

/** What the steps themselves were shown comes first; else it was drawn elsewhere. */
async function recordOf(db: Db, imageId: string, steps: readonly OfTree[]): Promise<HistoryImageRecord | undefined> {
  const [own] = await readImagesShown(db, [imageId], steps);
  return own ?? findHistoryImage(db, imageId);
}
