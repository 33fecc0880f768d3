import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatasetError } from '../dataset-error.ts';
import type { Existing } from '../export/atomic-file.ts';
import { cardOf, FOLDER_MANIFEST } from '../export/dataset-card.ts';
import { SPLITS, splitOf } from '../export/export-folder.ts';
import { openSelection } from '../export/export-trajectories.ts';
import { type Shard, ShardSink } from '../export/shard-sink.ts';
import { readSnapshot } from '../export/snapshot.ts';
import { fillFolder } from '../prepare/atomic-folder.ts';
import { nothingMatches, ROW_PROJECTIONS, type RowExportOptions, type RowManifest } from './export-rows.ts';
import { openGeneralData } from './general-data.ts';
import { checkRowOptions, ROW_FORMAT_VERSIONS } from './row-options.ts';
import { openGate } from './training-row.ts';
import { type RowCounts, writeRows } from './write-rows.ts';

/** What a folder of mined examples is and where it comes from. */
export interface RowFolderManifest extends Omit<RowManifest, 'schema' | 'bytes' | 'sha256' | 'counts'> {
  readonly schema: 'espalier-rows-folder-manifest/1';
  readonly splits: Readonly<Record<string, RowCounts>>;
  readonly files: readonly Shard[];
  /** As of `RowCounts`, of all splits. */
  readonly unclear?: number;
  readonly unfinished?: number;
  readonly unrewarded?: number;
}

/**
 * Writes the examples of searched trees as a folder that the Hugging Face hub and `load_dataset` read as it is, split by their
 * tasks; general conversations are mixed into `train`. The folder appears whole or not at all. @throws DatasetError.
 */
export async function exportRowsFolder(options: RowExportOptions & { readonly existing: Existing }): Promise<RowFolderManifest> {
  const { db, blobs, query, format, parameters, out, existing, codeVersion, signal, waitMs } = options;
  checkRowOptions(format, parameters);
  const general = options.general && (await openGeneralData(options.general, format.kind));
  const mark = '{"schema":"espalier-rows-folder-manifest/1"';
  return fillFolder(out, { existing, mark, manifest: FOLDER_MANIFEST }, async (folder) => {
    await mkdir(join(folder, 'data'));
    await mkdir(join(folder, '_manifests'));
    const { splits, files, runs, unclear, leftOut, position } = await readSnapshot(
      db,
      ROW_PROJECTIONS,
      { waitMs, signal },
      async (trx, at) => {
        const { unclear, pictures } = await openSelection(trx, options);
        if (pictures.any && format.kind !== 'openai')
          throw new DatasetError(
            'picture',
            `pictures of ${format.kind} lie in files next to it, which the hub does not find: export --format openai with --layout hf, or leave out --layout`,
          );
        const gate = await openGate(trx, parameters.gates); // one for all: no example is in two splits
        const found: { splits: Record<string, RowCounts>; files: Shard[]; runs: Set<string> } = {
          splits: {},
          files: [],
          runs: new Set(),
        };
        let before = 0;
        const leftOut = { unfinished: 0, unrewarded: 0 };
        for (const split of SPLITS) {
          const sink = new ShardSink(folder, { split, ending: format.container === 'parquet' ? '.parquet' : '.jsonl' });
          const { counts, runs: from } = await writeRows({
            trx,
            blobs,
            query,
            format,
            parameters,
            file: sink,
            signal,
            pictures,
            gate,
            folder: { keep: async () => '' }, // no format that keeps pictures in files comes here
            general: split === 'train' ? general : null,
            revisionKeys: options.revisionKeys,
            preferred: options.preferred,
            tokenizer: format.tokenizer === undefined ? undefined : options.tokenizer,
            only: (of) => splitOf(of) === split,
            onDone: (lines) => options.onProgress(before + lines),
            onExample: () => undefined,
          });
          before += counts.lines;
          leftOut.unfinished += counts.unfinished ?? 0;
          leftOut.unrewarded += counts.unrewarded ?? 0;
          if (counts.lines === 0) await sink.discard();
          else {
            for (const each of await sink.finish()) found.files.push(each);
            found.splits[split] = counts;
          }
          for (const run of from) found.runs.add(run);
          if (split === 'test' && before === 0) throw nothingMatches(query, parameters, counts);
        }
        return { ...found, unclear, leftOut, position: at };
      },
    );
    const manifest: RowFolderManifest = {
      schema: 'espalier-rows-folder-manifest/1',
      format,
      formatVersion: ROW_FORMAT_VERSIONS[format.kind],
      query,
      parameters,
      general: general?.source ?? null,
      codeVersion,
      position,
      ...unclear,
      ...(leftOut.unfinished > 0 ? { unfinished: leftOut.unfinished } : {}),
      ...(leftOut.unrewarded > 0 ? { unrewarded: leftOut.unrewarded } : {}),
      splits,
      runs: [...runs].sort(),
      files,
    };
    await writeFile(join(folder, FOLDER_MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
    await writeFile(join(folder, 'README.md'), cardOfRows(manifest));
    return manifest;
  });
}

function cardOfRows({ format, formatVersion, query, splits, codeVersion, files, parameters }: RowFolderManifest): string {
  const { alpha, beta } = parameters.thresholds;
  const rows = Object.entries(splits).map(([split, { good, revisions, pairs, general, lines }]) => ({
    split,
    cells: [good, revisions, pairs, general, lines],
  }));
  return cardOf({
    title: 'Examples of searched trees of language agents',
    files,
    codeVersion,
    query,
    what: `Good trajectories (alpha ${alpha}), revisions or pairs (beta ${beta}) in the form \`${format.kind}\` (version ${formatVersion})`,
    command: `${format.kind} --data ${parameters.data} --layout hf`,
    columns: ['good', 'revisions', 'pairs', 'general', 'rows'],
    rows,
  });
}
