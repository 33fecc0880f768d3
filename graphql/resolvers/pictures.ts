import type { OfTree } from '../../src/projections/of-tree.ts';
import { findPictures, type PictureRecord, readPicturesOfSteps } from '../../src/projections/pictures/read-pictures.ts';
import type { Context } from '../context.ts';
import { manyOfTree, one, readFrom } from '../loaders/batch.ts';
import { loadedBy } from '../loaders/loaded-by.ts';

const ofSteps = loadedBy((db) => manyOfTree(readFrom(db)(readPicturesOfSteps), ({ stepId }) => stepId));
const byId = loadedBy((db) => one(readFrom(db)(findPictures), ({ imageId }) => imageId));

/** Returns the pictures of the observation of a step, in order. */
export async function picturesOfStep(context: Context, step: OfTree) {
  return (await ofSteps(context).load(step)).map(model);
}

/** Returns a picture by its id; null for an id of a history. */
export async function pictureOf(context: Context, imageId: string) {
  const picture = await byId(context).load(imageId);
  return picture && model(picture);
}

function model({ imageId, width, height }: PictureRecord) {
  return { id: imageId, width, height, url: `/images/${imageId}.png` };
}
