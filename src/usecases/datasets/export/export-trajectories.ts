import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { Db, Trx } from '../../../postgres/database.ts';
import { annotations } from '../../../projections/annotations/annotations.ts';
import { images } from '../../../projections/images/images.ts';
import { journal } from '../../../projections/journal/journal.ts';
import { pictures } from '../../../projections/pictures/pictures.ts';
import type { Projection } from '../../../projections/projection.ts';
import { prompts } from '../../../projections/prompts/prompts.ts';
import { rewards } from '../../../projections/rewards/rewards.ts';
import { runs } from '../../../projections/runs/runs.ts';
import { stepTree } from '../../../projections/step-tree/step-tree.ts';
import { countForgotten, readPromptContents } from '../../../projections/trajectories/select-trajectories.ts';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import { DatasetError, payloadForgotten } from '../dataset-error.ts';
import { AtomicFile, type Existing, publishWithManifest, refuseManifest } from './atomic-file.ts';
import type { ChatTokenizer } from './chat-tokenizer.ts';
import { type ExportFormat, formatEntry, writeFormat } from './formats.ts';
import {
  checkUnclear,
  countUnfinished,
  countWhole,
  type ExportCounts,
  type Manifest,
  manifestText,
  refuseDifference,
  refuseUnrewarded,
  withOutcomes,
} from './manifest.ts';
import { describeQuery } from './parse-trajectory-query.ts';
import { openPictures, PictureFolder } from './pictures.ts';
import { readSnapshot, type SnapshotPosition } from './snapshot.ts';
import type { Truths } from './truths.ts';

export interface ExportOptions {
  readonly db: Db;
  readonly blobs: BlobStore;
  readonly query: TrajectoryQuery;
  readonly format: ExportFormat;
  /** The tokenizer whose digest the format names. */
  readonly tokenizer?: ChatTokenizer | undefined;
  /** The ground truths whose digest the format names. */
  readonly truths?: Truths | undefined;
  /** The file to make; its manifest lies in `_manifests` next to it. */
  readonly out: string;
  readonly existing: Existing;
  /** What to do when no trajectory matches: an error that names the filter, or a file without rows. */
  readonly empty: 'refuse' | 'allow';
  readonly codeVersion: string;
  /** How long the projections may take to reach one another. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Called where prompts of what is exported show pictures. */
  readonly onPictures?: () => void;
  readonly onProgress: (progress: { readonly done: number; readonly total: number }) => void;
}

/**
 * Writes the trajectories of a query as one file and a manifest, in memory bounded by one tree and one row group. The order is by
 * content (run, task alias, tree, ordinal), the input one snapshot of the database: the same export twice yields the same bytes.
 * Examples hold the prompts that were shown. Pictures that a format names lie in a folder next to the file.
 * @throws DatasetError; the file is then absent or as it was before.
 */
export async function exportTrajectories(options: ExportOptions): Promise<Manifest> {
  const { db, blobs, format, tokenizer, truths, out, existing, signal, waitMs, onProgress } = options;
  const query = withOutcomes(options.query, format);
  if (existing === 'refuse') await refuseManifest(out);
  const folder = await PictureFolder.open(out, existing);
  const file = await AtomicFile.open(out, existing);
  try {
    const { counts, position } = await readSnapshot(db, projectionsOf(format), { waitMs, signal }, async (trx, at) => {
      const { counted, unclear, pictures } = await openSelection(trx, { ...options, query });
      const { trajectories: total } = counted;
      if (total === 0 && options.empty === 'refuse')
        throw nothingMatches(options.query, await countUnfinished(trx, options.query, counted));
      onProgress({ done: 0, total });
      const job = { trx, blobs, query, format, tokenizer, truths, file, pictures, folder, signal };
      const written = await writeFormat({ ...job, onDone: (done) => onProgress({ done, total }) });
      const unfinished = await countUnfinished(trx, options.query, counted);
      if (options.empty === 'refuse') refuseUnrewarded(written, format);
      // each step of `jsonl` is one event, however many paths share it: its writer compares tree by tree
      refuseDifference(format.kind === 'jsonl' ? { ...counted, steps: written.steps } : counted, written);
      return {
        counts: {
          ...written,
          ...unfinished,
          ...unclear,
          ...(folder.size === 0 ? {} : { pictures: folder.size }),
          ...(pictures.unshaped.size === 0 ? {} : { unshapedPictures: pictures.unshaped.size }),
        },
        position: at,
      };
    });
    await folder.publish();
    return await publish(file, { ...options, query }, counts, position);
  } finally {
    await folder.discard();
    await file.discard();
  }
}

/**
 * Counts what a query chooses, whole, and opens the pictures of its prompts. @throws DatasetError for what is forgotten, waits in
 * quarantine, or may belong to another path.
 */
export async function openSelection(
  trx: Trx,
  {
    blobs,
    query,
    format,
    onPictures,
  }: {
    readonly blobs: BlobStore;
    readonly query: TrajectoryQuery;
    readonly format: { readonly kind: string };
    readonly onPictures?: (() => void) | undefined;
  },
) {
  const counted = await countWhole(trx, query);
  const forgotten = await countForgotten(trx, query);
  if (forgotten > 0) throw payloadForgotten(forgotten, counted.trajectories);
  const unclear = await checkUnclear(trx, query, format);
  const pictures = openPictures(trx, blobs, await readPromptContents(trx, query));
  if (pictures.any) onPictures?.();
  return { counted, unclear, pictures };
}

async function publish(
  file: AtomicFile,
  { query, format, codeVersion, existing }: ExportOptions,
  counts: ExportCounts,
  position: SnapshotPosition,
): Promise<Manifest> {
  const { bytes, sha256 } = await file.seal();
  const formatVersion = formatEntry(format).version;
  const schema = 'espalier-manifest/1';
  const manifest: Manifest = { schema, format, formatVersion, query, codeVersion, position, counts, bytes, sha256 };
  await publishWithManifest(file, manifestText(manifest), existing);
  return manifest;
}

/** Names the read models that a format is written from. */
export function projectionsOf(format: ExportFormat): readonly Projection[] {
  const read = [stepTree, rewards];
  return format.kind === 'jsonl' ? [...read, journal] : [...read, runs, prompts, images, pictures, annotations];
}

/** Makes the error of a query without a trajectory. */
export function nothingMatches(query: TrajectoryQuery, { unfinished }: Pick<ExportCounts, 'unfinished'>): DatasetError {
  if (unfinished !== undefined)
    return new DatasetError(
      'nothing-matches',
      `all ${unfinished} trajectories that match ${describeQuery(query)} failed or were cancelled; take them by --outcome failed,cancelled`,
    );
  return new DatasetError(
    'nothing-matches',
    `no finished trajectory matches ${describeQuery(query)}; loosen the filter, or allow an empty file`,
  );
}
