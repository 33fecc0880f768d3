import { type RawBuilder, sql } from 'kysely';
import { groupBy } from '../../domain/group-by.ts';
import type { Packed } from '../../events/schemas/values.ts';
import { imageId as idOf } from '../../images/image-id.ts';
import { PICTURE_LIMITS, type Picture, pictureSize } from '../../images/observation-pictures.ts';
import { decodePng } from '../../images/png.ts';
import type { Db } from '../../postgres/database.ts';
import { keyInTree, type OfTree, pairsOf } from '../of-tree.ts';

/** A picture on record: its bytes may lie in the blob store. */
export interface PictureRecord {
  readonly stepId: string;
  readonly treeId: string;
  readonly imageId: string;
  readonly width: number;
  readonly height: number;
  readonly png: Packed;
}

/** A picture as the record holds it. */
export type OpenedPicture =
  | { readonly kind: 'picture'; readonly picture: Picture }
  | { readonly kind: 'forgotten' }
  /** The bytes are not there, or are not what the id says. */
  | { readonly kind: 'damaged'; readonly detail: string };

/** The record does not hold a picture any more; the message names its step and why. */
export class PictureLost extends Error {
  override readonly name = 'PictureLost';
}

/** Reads bytes of the blob store. */
type ReadBytes = (sha256: string) => Promise<Uint8Array>;

/** Reads the pictures of all steps of a tree, by step, in their order. @throws PictureLost. */
export async function readPicturesOfTree(
  db: Db,
  treeId: string,
  readBytes: ReadBytes,
): Promise<ReadonlyMap<string, readonly Picture[]>> {
  const rows = await records(db).where('treeId', '=', treeId).orderBy('stepId').orderBy('ordinal').execute();
  const found = new Map<string, Picture[]>();
  for (const row of rows.map(asRecord)) {
    const picture = await openPicture(row, readBytes);
    const { stepId, imageId } = row;
    if (picture.kind === 'forgotten')
      throw new PictureLost(`the picture ${imageId} of step ${stepId} is forgotten; nothing brings it back`);
    if (picture.kind === 'damaged')
      throw new PictureLost(`the picture ${imageId} of step ${stepId} ${picture.detail}; restore it`);
    found.set(stepId, [...(found.get(stepId) ?? []), picture.picture]);
  }
  return found;
}

export type PictureIds = ReadonlyMap<string, readonly { readonly imageId: string }[]>;

/** Reads the ids of the pictures of steps, by `keyInTree`, in their order; steps without are left out. */
export async function readPictureIds(db: Db, steps: readonly OfTree[]): Promise<PictureIds> {
  if (steps.length === 0) return new Map();
  return idsIn(db, sql`${pairsOf(steps)} w join pictures p on p.step_id = w.id and p.tree_id = w.tree_id`, keyOfStep);
}

/** Reads the ids of the pictures of all steps of a tree, by step, in their order; steps without are left out. */
export async function readPictureIdsOfTree(db: Db, treeId: string): Promise<PictureIds> {
  return idsIn(db, sql`pictures p where p.tree_id = ${treeId}::uuid`, ({ stepId }) => stepId);
}

/** Reads the same of all steps of trees. */
export async function readPictureIdsOfTrees(db: Db, trees: readonly string[]): Promise<PictureIds> {
  if (trees.length === 0) return new Map();
  return idsIn(db, sql`pictures p where p.tree_id = any(${[...trees]}::uuid[])`, keyOfStep);
}

type PictureRow = Pick<PictureRecord, 'treeId' | 'stepId' | 'imageId'>;

function keyOfStep({ treeId, stepId }: PictureRow): string {
  return keyInTree(treeId, stepId);
}

async function idsIn(db: Db, from: RawBuilder<unknown>, keyOf: (row: PictureRow) => string): Promise<PictureIds> {
  const { rows } = await sql<PictureRow>`
    select p.tree_id, p.step_id, p.image_id from ${from} order by p.tree_id, p.step_id, p.ordinal`.execute(db);
  return groupBy(rows, keyOf, ({ imageId }) => ({ imageId }));
}

/** Reads the pictures of steps, in their order, without their bytes. */
export async function readPicturesOfSteps(db: Db, steps: readonly OfTree[]): Promise<readonly PictureRecord[]> {
  if (steps.length === 0) return [];
  const rows = await records(db)
    .where(sql<boolean>`(step_id, tree_id) in (select w.id, w.tree_id from ${pairsOf(steps)} w)`)
    .orderBy('treeId')
    .orderBy('stepId')
    .orderBy('ordinal')
    .execute();
  return rows.map(asRecord);
}

/** Finds a picture by its id. */
export async function findPicture(db: Db, imageId: string): Promise<PictureRecord | undefined> {
  return (await findPictures(db, [imageId]))[0];
}

/**
 * Finds a picture by its id among those of some trees: what a prompt showed was seen there, whatever other trees put under the
 * same id.
 */
export async function findPictureOfTrees(db: Db, imageId: string, trees: readonly string[]): Promise<PictureRecord | undefined> {
  const row = await records(db)
    .where('imageId', '=', imageId)
    .where('treeId', '=', sql<string>`any(${[...trees]}::uuid[])`)
    .orderBy('treeId')
    .orderBy('stepId')
    .limit(1)
    .executeTakeFirst();
  return row && asRecord(row);
}

/**
 * Finds for each picture, by its id, the first step on record that it was seen at, one whose payload is not forgotten before
 * others; unknown pictures are left out.
 */
export async function findPictures(db: Db, ids: readonly string[]): Promise<readonly PictureRecord[]> {
  if (ids.length === 0) return [];
  const rows = await records(db)
    .distinctOn('imageId')
    .where('imageId', 'in', [...ids])
    .orderBy('imageId')
    .orderBy(sql`png ->> 'bytes' = ''`)
    .orderBy('stepId')
    .orderBy('treeId')
    .execute();
  return rows.map(asRecord);
}

/** Reads the bytes of a picture and compares its pixels with its id. */
export async function openPicture({ imageId, png: { bytes } }: PictureRecord, readBytes: ReadBytes): Promise<OpenedPicture> {
  if (bytes === '') return { kind: 'forgotten' };
  try {
    const png = typeof bytes === 'string' ? Buffer.from(bytes, 'base64') : await readBytes(bytes.blob);
    const size = pictureSize(png); // before anything is unpacked: a small file may claim any size
    if (size === null || Math.max(size.width, size.height) > PICTURE_LIMITS.side)
      return { kind: 'damaged', detail: `is no PNG or JPEG of at most ${PICTURE_LIMITS.side} pixels on a side` };
    const { width, height, rgb } = await decodePng(png);
    const found = idOf(width, height, rgb);
    if (found === imageId) return { kind: 'picture', picture: { imageId, width, height, png } };
    return { kind: 'damaged', detail: `has other pixels, those of ${found}` };
  } catch (cause) {
    return { kind: 'damaged', detail: `cannot be read: ${cause instanceof Error ? cause.message : String(cause)}` };
  }
}

function records(db: Db) {
  return db.selectFrom('pictures').select(['stepId', 'treeId', 'imageId', 'width', 'height', 'png']);
}

function asRecord<T extends { readonly png: unknown }>(row: T): T & { readonly png: Packed } {
  return row as T & { readonly png: Packed }; // as the schema of the event has it
}
