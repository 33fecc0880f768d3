import type { DataOf } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/** Folds the pictures that observations and captured calls showed. A step is taken once in its
 * tree: the first that names it is the fact. */
export const pictures: Projection = {
  name: 'pictures',
  version: 2,
  handles: ['TreeOpened', 'StepTaken', 'CallCaptured'],
  skips: ({ event }) => !('pictures' in event.data) || !event.data.pictures?.length,
  project,
};

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  await insertRows(trx, tables.pictures, batch.flatMap(rowsOf));
  return [];
}

function rowsOf(delivery: Delivery): Row<typeof tables.pictures>[] {
  if (isOf(delivery, 'TreeOpened')) return rows(delivery.event.data.rootStepId, delivery.event.data, delivery.offset);
  if (isOf(delivery, 'StepTaken')) return rows(delivery.event.data.stepId, delivery.event.data, delivery.offset);
  if (isOf(delivery, 'CallCaptured')) return rows(delivery.event.data.callId, delivery.event.data, delivery.offset);
  return [];
}

function rows(
  stepId: string,
  { treeId, pictures: shown = [] }: Pick<DataOf<'StepTaken'>, 'treeId' | 'pictures'>,
  logOffset: Delivery['offset'],
): Row<typeof tables.pictures>[] {
  return shown.map(({ imageId, width, height, png }, ordinal) => {
    return { stepId, ordinal, treeId, imageId, width, height, png: { ...png }, logOffset };
  });
}
