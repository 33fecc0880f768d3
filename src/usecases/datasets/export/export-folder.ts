import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatasetError } from '../dataset-error.ts';
import { fillFolder } from '../prepare/atomic-folder.ts';
import { datasetCard, FOLDER_MANIFEST, type FolderManifest } from './dataset-card.ts';
import { type ExportOptions, nothingMatches, openSelection, projectionsOf } from './export-trajectories.ts';
import { formatEntry, isParquet, writeFormat } from './formats.ts';
import {
  countUnfinished,
  type ExportCounts,
  type LeftOut,
  refuseDifference,
  refuseUnrewarded,
  withOutcomes,
} from './manifest.ts';
import { type Shard, ShardSink } from './shard-sink.ts';
import { readSnapshot } from './snapshot.ts';

/** The splits of a folder, in the order in which they are written. */
export const SPLITS = ['train', 'validation', 'test'] as const;

/**
 * Writes the trajectories of a query as a folder that the Hugging Face hub and `load_dataset` read as it is: `data/` with the
 * files of each split (that of the task; a task without one is trained on), a card that names them (`README.md`), and
 * `_manifests`. The folder appears whole or not at all. @throws DatasetError as `exportTrajectories`, `invalid-query` for formats
 * that are no rows.
 */
export async function exportFolder(options: ExportOptions): Promise<FolderManifest> {
  const { db, blobs, format, tokenizer, truths, out, existing, signal, waitMs, codeVersion, onProgress } = options;
  if (format.kind === 'jsonl')
    throw new DatasetError('invalid-query', 'a file of events is no data set of rows: export --format jsonl without --layout hf');
  const query = withOutcomes(options.query, format);
  const mark = '{"schema":"espalier-folder-manifest/1"';
  return fillFolder(out, { existing, mark, manifest: FOLDER_MANIFEST }, async (folder) => {
    await mkdir(join(folder, 'data'));
    await mkdir(join(folder, '_manifests'));
    const manifest = await readSnapshot(
      db,
      projectionsOf(format),
      { waitMs, signal },
      async (trx, position): Promise<FolderManifest> => {
        const { counted, unclear, pictures } = await openSelection(trx, { ...options, query });
        const { trajectories: total } = counted;
        if (total === 0) throw nothingMatches(options.query, await countUnfinished(trx, options.query, counted));
        if (pictures.any && !isParquet(format) && format.kind !== 'openai')
          throw new DatasetError(
            'picture',
            `pictures of ${format.kind} lie in files next to it, which the hub does not find: export --format parquet or verl with --layout hf, or leave out --layout`,
          );
        const splits: Record<string, ExportCounts> = {};
        const all: ExportCounts[] = []; // a split without a row may have left some out
        const files: Shard[] = [];
        let before = 0;
        for (const split of SPLITS) {
          const sink = new ShardSink(folder, { split, ending: isParquet(format) ? '.parquet' : '.jsonl' });
          const counts = await writeFormat({
            trx,
            blobs,
            query,
            format,
            tokenizer,
            truths,
            pictures,
            signal,
            file: sink,
            folder: { keep: async () => '' }, // no format that keeps pictures in files comes here
            only: ({ head }) => splitOf(head.split) === split,
            onDone: (done) => onProgress({ done: before + done, total }),
          });
          before += counts.trajectories;
          if (counts.lines === 0) await sink.discard();
          else for (const each of await sink.finish()) files.push(each);
          all.push(counts);
          if (counts.trajectories > 0) splits[split] = counts;
        }
        const counts = { ...sumOf(all), ...(await countUnfinished(trx, options.query, counted)), ...unclear };
        refuseUnrewarded(counts, format);
        refuseDifference({ trajectories: total, steps: counted.steps }, counts);
        const schema = 'espalier-folder-manifest/1';
        return {
          schema,
          format,
          formatVersion: formatEntry(format).version,
          query,
          codeVersion,
          position,
          counts,
          splits,
          files,
        };
      },
    );
    await writeFile(join(folder, FOLDER_MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
    await writeFile(join(folder, 'README.md'), datasetCard(manifest));
    return manifest;
  });
}

/** Names the split of the hub that a task's own belongs to. */
export function splitOf(split: string | null): (typeof SPLITS)[number] {
  if (split === 'test') return 'test';
  return split === 'validation' || split === 'valid' || split === 'val' || split === 'dev' ? 'validation' : 'train';
}

function sumOf(all: readonly ExportCounts[]): ExportCounts {
  const sum = (of: (counts: ExportCounts) => number) => all.reduce((total, counts) => total + of(counts), 0);
  const lost = {
    replies: sum((c) => c.lost?.replies ?? 0),
    tokens: sum((c) => c.lost?.tokens ?? 0),
    rows: sum((c) => c.lost?.rows ?? 0),
  };
  const retokenised = sum((c) => c.retokenised ?? 0);
  const left = (what: keyof LeftOut) => sum((c) => c.unrewarded?.[what] ?? 0);
  const unrewarded = { trajectories: left('trajectories'), trees: left('trees'), steps: left('steps') };
  return {
    trajectories: sum((c) => c.trajectories),
    withoutStep: sum((c) => c.withoutStep),
    trees: sum((c) => c.trees),
    steps: sum((c) => c.steps),
    tokens: sum((c) => c.tokens),
    lines: sum((c) => c.lines),
    ...(unrewarded.trajectories > 0 ? { unrewarded } : {}),
    ...(retokenised > 0 ? { retokenised } : {}),
    ...(lost.replies > 0 ? { lost } : {}),
  };
}
