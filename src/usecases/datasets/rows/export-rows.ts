import { stat } from 'node:fs/promises';
import { sha256OfFile } from '../../../digest/sha256.ts';
import { annotations } from '../../../projections/annotations/annotations.ts';
import { images } from '../../../projections/images/images.ts';
import { pictures } from '../../../projections/pictures/pictures.ts';
import { prompts } from '../../../projections/prompts/prompts.ts';
import { rewards } from '../../../projections/rewards/rewards.ts';
import { runs } from '../../../projections/runs/runs.ts';
import { stepTree } from '../../../projections/step-tree/step-tree.ts';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import { DatasetError } from '../dataset-error.ts';
import { AtomicFile, type Existing, publishWithManifest, refuseManifest } from '../export/atomic-file.ts';
import { type ExportOptions, openSelection } from '../export/export-trajectories.ts';
import { describeQuery } from '../export/parse-trajectory-query.ts';
import { PictureFolder } from '../export/pictures.ts';
import { readSnapshot, type SnapshotPosition } from '../export/snapshot.ts';
import { type GeneralOptions, type GeneralSource, openGeneralData } from './general-data.ts';
import { checkRowOptions, ROW_FORMAT_VERSIONS, type RowFormat, type RowParameters } from './row-options.ts';
import type { ChosenRevisions } from './stream-rows.ts';
import { type RowCounts, type WrittenExample, writeRows } from './write-rows.ts';

export interface RowExportOptions
  extends ChosenRevisions,
    Pick<ExportOptions, 'db' | 'blobs' | 'query' | 'tokenizer' | 'out' | 'codeVersion' | 'waitMs' | 'signal' | 'onPictures'> {
  readonly format: RowFormat;
  readonly parameters: RowParameters;
  readonly general: GeneralOptions | null;
  /** What becomes of a file that is there: `same` accepts one of the very content that is to be written. */
  readonly existing: Existing | 'same';
  readonly onProgress: (lines: number) => void;
  /** Called for every example as it is written. */
  readonly onExample?: (example: WrittenExample) => void;
}

/**
 * What a file of examples is and where it comes from. No clock and no machine: the same export of the same record yields the same
 * bytes.
 */
export interface RowManifest {
  readonly schema: 'espalier-rows-manifest/1';
  readonly format: RowFormat;
  readonly formatVersion: number;
  readonly query: TrajectoryQuery;
  readonly parameters: RowParameters;
  readonly general: GeneralSource | null;
  readonly codeVersion: string;
  readonly position: SnapshotPosition;
  readonly counts: RowCounts;
  readonly runs: readonly string[];
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Writes the examples of searched trees as one file and a manifest, from one snapshot, in memory bounded by a few trees and a
 * hash per line. The same export twice yields the same bytes. @throws DatasetError; the file is then absent or
 * as it was before.
 */
export async function exportRows(options: RowExportOptions): Promise<RowManifest> {
  const { db, blobs, query, format, parameters, out, existing, codeVersion, signal, waitMs } = options;
  checkRowOptions(format, parameters);
  const general = options.general && (await openGeneralData(options.general, format.kind));
  if (existing === 'refuse') await refuseManifest(out);
  const over = existing === 'same' ? 'replace' : existing;
  const folder = await PictureFolder.open(out, over);
  const file = await AtomicFile.open(out, over);
  try {
    const {
      counts,
      runs: from,
      position,
    } = await readSnapshot(db, ROW_PROJECTIONS, { waitMs, signal }, async (trx, at) => {
      const { unclear, pictures } = await openSelection(trx, options); // a tree that is not whole is mined to other examples
      const job = {
        trx,
        blobs,
        query,
        format,
        parameters,
        general,
        file,
        folder,
        signal,
        revisionKeys: options.revisionKeys, // what `parameters.revisionSet` stands for
        preferred: options.preferred,
        tokenizer: format.tokenizer === undefined ? undefined : options.tokenizer,
        pictures,
        onDone: options.onProgress,
        onExample: options.onExample ?? (() => undefined),
      };
      const written = await writeRows(job);
      return { ...written, counts: { ...written.counts, ...unclear }, position: at };
    });
    if (counts.lines === 0) throw nothingMatches(query, parameters, counts);
    const { bytes, sha256 } = await file.seal();
    if (existing === 'same') await refuseOther(out, sha256);
    await folder.publish();
    const manifest: RowManifest = {
      schema: 'espalier-rows-manifest/1',
      format,
      formatVersion: ROW_FORMAT_VERSIONS[format.kind],
      query,
      parameters,
      general: general?.source ?? null,
      codeVersion,
      position,
      counts,
      runs: from,
      bytes,
      sha256,
    };
    await publishWithManifest(file, `${JSON.stringify(manifest, null, 2)}\n`, over);
    return manifest;
  } finally {
    await folder.discard();
    await file.discard();
  }
}

/** The read models that examples are made of. */
export const ROW_PROJECTIONS = [stepTree, rewards, runs, prompts, images, pictures, annotations];

async function refuseOther(out: string, sha256: string): Promise<void> {
  const there = await stat(out).catch(() => undefined);
  if (!there) return;
  if (there.isFile() && (await sha256OfFile(out)) === sha256) return;
  throw new DatasetError(
    'file-exists',
    `${out} is already there with other content; choose another name, or replace it with --force`,
  );
}

/** Makes the error of a query without an example. */
export function nothingMatches(
  query: TrajectoryQuery,
  { data, thresholds, state }: RowParameters,
  { dropped }: RowCounts,
): DatasetError {
  const { alpha, beta } = thresholds;
  const kinds = { good: 'good trajectories', revisions: 'revisions', both: 'good trajectories or revisions', pairs: 'pairs' };
  const what = `${kinds[data]} at alpha ${alpha}${data === 'good' ? '' : `, beta ${beta}`}`;
  const mined =
    data === 'revisions'
      ? `; mine them first (espalier revise), or take those that nobody executed too (--state composed, now ${state})`
      : '';
  const gone = Object.entries(dropped)
    .filter(([, count]) => count > 0)
    .map(([why, count]) => `${count} by ${why}`);
  const gated = gone.length === 0 ? '' : `; the gates dropped ${gone.join(', ')}`;
  return new DatasetError('nothing-matches', `there are no ${what} under ${describeQuery(query)}${mined}${gated}`);
}
