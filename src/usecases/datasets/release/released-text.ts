import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { Thresholds } from '../../../domain/revision/thresholds.ts';
import type { Db } from '../../../postgres/database.ts';
import type { ExampleRecord } from '../../../projections/dataset-sources/read-examples.ts';
import type { DatasetRecord } from '../../../projections/datasets/read-datasets.ts';
import { readPromptsHeld, readSelectedOfTree } from '../../../projections/trajectories/select-trajectories.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { DatasetError } from '../dataset-error.ts';
import { jsonLine } from '../export/json-line.ts';
import { openPictures } from '../export/pictures.ts';
import { configs } from '../export/stream-trajectories.ts';
import { ROW_FORMAT_VERSIONS } from '../rows/row-options.ts';
import { shownBodies } from '../rows/shown-bodies.ts';
import { rowsOf } from '../rows/stream-rows.ts';
import type { TrainingRow } from '../rows/training-row.ts';
import { withSource } from '../rows/write-rows.ts';
import { manifestOf } from './release-dataset.ts';

/**
 * Makes the lines of a released example again, from the record and by what the release says of itself. A picture is named as in
 * the file, without the name of the file, which no release holds.
 * @throws DatasetError `conflict` where the record does not yield the example any more, and what writing a file throws.
 */
export async function releasedText(
  db: Db,
  blobs: Pick<BlobStore, 'get'>,
  dataset: DatasetRecord,
  example: ExampleRecord,
): Promise<string> {
  const { format, formatVersion, parameters: recorded, query: chosen } = manifestOf(dataset);
  const query = { ...everyTrajectory, ...chosen };
  const { alpha, beta } = (recorded.thresholds ?? {}) as Partial<Thresholds>; // the event holds any JSON
  if (alpha === undefined || beta === undefined) throw conflict(dataset, example, 'it does not hold the thresholds of an export');
  const parameters = { ...recorded, thresholds: { alpha, beta } }; // a table of JSON does not keep the order of names
  if (formatVersion !== ROW_FORMAT_VERSIONS[format.kind])
    throw conflict(dataset, example, `it was written as ${format.kind} ${formatVersion}, which this version does not write`);
  const rollouts = await readSelectedOfTree(db, query, example.treeId);
  const [first] = rollouts;
  if (!first) throw conflict(dataset, example, 'no trajectory of its tree is chosen by the filter of the release any more');
  const making = { blobs, parameters, configOf: configs(db) };
  const pictures = openPictures(db, blobs, await readPromptsHeld(db, query));
  const shelf = { pictures, folder: { keep: async ({ id }: { readonly id: string }) => `__images__/${id}.png` } };
  for await (const rows of rowsOf(db, [{ treeId: example.treeId, runId: first.runId, rollouts }], making)) {
    const row = rows.find((each) => isOf(each, example));
    if (!row || row.isAltered) continue;
    const bodies = await shownBodies(row, format, shelf);
    return bodies.map(({ body, said }) => jsonLine(withSource(body, said, row, format))).join('');
  }
  throw conflict(dataset, example, 'its tree yields other examples now');
}

function isOf({ kind, source, rollouts }: TrainingRow, example: ExampleRecord): boolean {
  if (kind !== example.kind || rollouts.good !== example.goodRolloutId || rollouts.bad !== example.badRolloutId) return false;
  return source.revision === example.revisionId;
}

function conflict({ name, version }: DatasetRecord, { line }: ExampleRecord, why: string): DatasetError {
  return new DatasetError('conflict', `line ${line} of ${name}@${version} cannot be made again: ${why}; read it in the file`);
}
