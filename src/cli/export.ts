import { dirname, relative } from 'node:path';
import { type Command, Option } from 'commander';
import { CODE_VERSION } from '../platform/code-version.ts';
import type { Platform } from '../platform/open-platform.ts';
import type { Db } from '../postgres/database.ts';
import type { Moment } from '../projections/as-of/moment.ts';
import type { Entities } from '../projections/as-of/scope.ts';
import type { TrajectoryQuery } from '../projections/trajectories/trajectory-query.ts';
import type { Existing } from '../usecases/datasets/export/atomic-file.ts';
import { openChatTokenizer } from '../usecases/datasets/export/chat-tokenizer.ts';
import { FOLDER_MANIFEST, type FolderManifest } from '../usecases/datasets/export/dataset-card.ts';
import { exportFolder } from '../usecases/datasets/export/export-folder.ts';
import { exportTrajectories } from '../usecases/datasets/export/export-trajectories.ts';
import { formatEntry, isExportFormat } from '../usecases/datasets/export/formats.ts';
import { type ExportCounts, type Manifest, manifestPath } from '../usecases/datasets/export/manifest.ts';
import { parseChoices, type QueryChoices } from '../usecases/datasets/export/parse-trajectory-query.ts';
import { picturesPath } from '../usecases/datasets/export/pictures.ts';
import { readTruths } from '../usecases/datasets/export/truths.ts';
import type { Lost } from '../usecases/datasets/export/without-context.ts';
import { CONTEXTS, type ExportChoices, LAYOUTS, SCOPES, WEIGHTS } from '../usecases/datasets/export-choices.ts';
import { planExport, refuseUseless } from '../usecases/datasets/plan-export.ts';
import { exportRows, type RowManifest } from '../usecases/datasets/rows/export-rows.ts';
import { exportRowsFolder, type RowFolderManifest } from '../usecases/datasets/rows/export-rows-folder.ts';
import { rowFormatNotes } from '../usecases/datasets/rows/shown-bodies.ts';
import { AS_OF, atMoment, parseMoment } from './at-moment.ts';
import { addRowOptions, generalOf, type RowFlags } from './row-flags.ts';
import { type Lines, print, printError, progressLine } from './terminal.ts';
import { wantsJson, withPlatformToRead } from './with-platform.ts';

interface ExportFlags extends QueryChoices, RowFlags {
  readonly out: string;
  readonly weights: ExportChoices['weights'];
  readonly scope: ExportChoices['scope'];
  readonly layout: ExportChoices['layout'] | 'hf' | 'hf-step';
  readonly context: ExportChoices['context'];
  readonly tokenizer?: string;
  readonly truths?: string;
  readonly force?: boolean;
  readonly allowEmpty?: boolean;
  readonly asOf?: Moment;
}

const WAIT_MS = 60_000;
/** What readers of tables must be asked for with a file of JSON lines with pictures. */
const PICTURED_LINES =
  'note: polars and pyarrow take types from the first rows, which may show no picture: read_ndjson(…, infer_schema_length=None), ReadOptions(block_size=) of the size of the file; load_dataset, pandas and duckdb need nothing';

/**
 * `espalier export`: trajectories, or examples mined from searched trees, as a file for a trainer, with a manifest that says what
 * they are.
 */
export function addExport(program: Command): void {
  const command = addQueryOptions(addRowOptions(program.command('export'), 'openai'))
    .requiredOption('--out <file>', 'the output file; its manifest is written to _manifests beside it')
    .addOption(
      new Option('--weights <rule>', 'trajectories: which replies have loss if rollouts share a prefix')
        .choices(WEIGHTS)
        .default('own'),
    )
    .addOption(
      new Option(
        '--context <rule>',
        'openai, sharegpt: replies without loss: end the row where its format cannot mark them, drop what follows them, or keep them with weight 0, which few trainers read',
      )
        .choices(CONTEXTS)
        .default('refuse'),
    )
    .addOption(new Option('--scope <scope>', 'jsonl: the exported part of a tree').choices(SCOPES).default('trajectories'))
    .addOption(
      new Option(
        '--layout <layout>',
        'verl: a row per trajectory, which needs recorded token ids, or per step. hf: --out is a folder with shards, splits and a card; hf-step: one of verl with a row per step',
      )
        .choices([...LAYOUTS, 'hf', 'hf-step'])
        .default('trajectory'),
    )
    .option(
      '--tokenizer <dir>',
      'verl, trl: tokenises texts without recorded ids, and rows say so; trl is then a row of ids per trajectory, Parquet where the file is called so. A folder with tokenizer.json',
    )
    .option(
      '--truths <file>',
      'prompts: the ground truth of each task, lines with id and ground_truth; their goals when left out',
    )
    .option(
      '--outcome <outcomes>',
      'terminated, truncated, failed, cancelled; without it, rows are made of those that were terminated or truncated',
    )
    .option('--success <true|false>')
    .option('--label <labels>', 'with one of these labels, on the rollout or one of its steps')
    .option('--without-label <labels>', 'with none of these labels')
    .option('--return-min <number>')
    .option('--return-max <number>')
    .option('--from <time>', 'finished at or after: a date in UTC, or a time with its zone (2026-01-31T09:30:00Z)')
    .option('--before <time>', 'finished before')
    .option('--as-of <moment>', `the record ${AS_OF}`, parseMoment)
    .option('--force', 'replace an existing file')
    .option('--allow-empty', 'trajectories: write a file even if nothing matches');
  command.action(async (flags: ExportFlags) => {
    const query = parseChoices(flags);
    refuseEnding(flags);
    const choices = choicesOf(flags, flags.format);
    refuseUseless(choices, flags);
    const tokenizer = flags.tokenizer === undefined ? undefined : await openChatTokenizer(flags.tokenizer);
    const truths = flags.truths === undefined ? undefined : await readTruths(flags.truths);
    const container = flags.out.endsWith('.parquet') ? 'parquet' : undefined;
    const plan = planExport(choices, { tokenizer, truths, container });
    await fromMoment(flags, plan.kind === 'rows' ? 'all' : entitiesOf(query), async (db, { blobs }, signal) => {
      const line = progressLine();
      const existing: Existing = flags.force ? 'replace' : 'refuse';
      let pictured = false;
      const onPictures = () => {
        pictured = true;
      };
      const noteReaders = (notes: readonly string[], inLines: boolean) =>
        printError([...notes, ...(pictured && inLines ? [PICTURED_LINES] : [])]);
      const common = { db, blobs, query, onPictures, out: flags.out, codeVersion: CODE_VERSION, waitMs: WAIT_MS, signal };
      if (plan.kind === 'rows') {
        const { format: rows, parameters } = plan;
        const options = {
          ...common,
          existing,
          tokenizer,
          format: rows,
          general: generalOf(flags),
          parameters,
          onProgress: (lines: number) => line.show(`exporting: ${lines} lines`),
        } as const;
        if (isFolder(flags)) {
          const made = await exportRowsFolder(options);
          line.end();
          noteReaders(rowFormatNotes(rows), true);
          return print(wantsJson(command) ? JSON.stringify(made) : describeRowsFolder(flags.out, made));
        }
        const manifest = await exportRows(options);
        line.end();
        noteReaders(rowFormatNotes(rows), true);
        return print(wantsJson(command) ? JSON.stringify(manifest) : describeRows(flags.out, manifest));
      }
      const { format } = plan;
      if (isFolder(flags)) {
        const made = await exportFolder({
          ...common,
          existing,
          format,
          tokenizer,
          truths,
          empty: 'refuse',
          onProgress: ({ done, total }) => line.show(`exporting: ${done}/${total} trajectories`),
        });
        line.end();
        noteReaders(formatEntry(format).notes(format), formatEntry(format).container === 'lines');
        return print(wantsJson(command) ? JSON.stringify(made) : describeFolder(flags.out, made));
      }
      const manifest = await exportTrajectories({
        ...common,
        existing,
        format,
        tokenizer,
        truths,
        empty: flags.allowEmpty ? 'allow' : 'refuse',
        onProgress: ({ done, total }) => line.show(`exporting: ${done}/${total} trajectories`),
      });
      line.end();
      noteReaders(formatEntry(format).notes(format), formatEntry(format).container === 'lines');
      print(wantsJson(command) ? JSON.stringify(manifest) : describeManifest(flags.out, manifest));
    });
  });
}

/** Reads what is exported from the read models of now, or of the moment that was asked for. */
function fromMoment<T>(
  { asOf }: ExportFlags,
  of: Entities | 'all',
  use: (db: Db, platform: Platform, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  // A log that lost records is read no more; what the database holds can be taken elsewhere.
  return withPlatformToRead(
    'export',
    (platform, signal) => atMoment(platform, asOf, of, signal, (db) => use(db, platform, signal)),
    { onFaults: 'report' },
  );
}

/** Trajectories of named runs follow from those runs alone. */
function entitiesOf({ runs }: TrajectoryQuery): Entities | 'all' {
  return runs === null ? 'all' : { runs, trees: [], steps: [], rollouts: [] };
}

/** Names a manifest from the folder of its file. */
function manifestName(out: string): string {
  return relative(dirname(out), manifestPath(out));
}

/** Adds the filters that choose trees and rollouts by where they come from. */
export function addQueryOptions(command: Command): Command {
  return command
    .option('--run <ids>', 'run ids, separated by commas')
    .option('--environment <names>')
    .option('--task <tasks>', 'task ids or aliases')
    .option('--split <names>')
    .option('--unclear <keep|drop>', 'captured rollouts with unclear calls or unread parts; refused without this option')
    .option('--policy <policies>', 'a policy id, or id@version; append @ to an id that ends in @ and digits');
}

export function describeManifest(out: string, { format, counts, bytes, sha256 }: Manifest): string {
  const rows = format.kind === 'jsonl' || counts.lines === counts.trajectories ? '' : ` in ${counts.lines} rows`;
  const made = counts.retokenised ? `; ${counts.retokenised} rows tokenised from texts` : '';
  const left = counts.leftOut ? `; ${counts.leftOut} events left out that wait in quarantine, refer to what does, or repeat` : '';
  const pictures = counts.pictures ? `; ${counts.pictures} pictures in ${relative(dirname(out), picturesPath(out))}` : '';
  const lost = counts.lost ? `; ${lostText(counts.lost)}` : '';
  return `${out}: ${counts.trajectories} trajectories, ${counts.steps} steps of ${counts.trees} trees${rows}, ${bytes.toLocaleString('en')} bytes, sha256 ${sha256.slice(0, 16)}… (${manifestName(out)})${made}${pictures}${left}${lost}${withoutRow(counts)}`;
}

function describeFolder(out: string, { splits, files, counts }: FolderManifest): Lines {
  const parts = Object.entries(splits).map(
    ([split, { trajectories, lines }]) => `${split}: ${trajectories} trajectories in ${lines} rows`,
  );
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const lost = counts.lost ? `; ${lostText(counts.lost)}` : '';
  return `${out}: ${parts.join(', ')}; ${files.length} files, ${bytes.toLocaleString('en')} bytes (README.md, ${FOLDER_MANIFEST})${lost}${withoutRow(counts)}`;
}

/** Says which finished rollouts have no row. */
function withoutRow({ unfinished, unrewarded }: ExportCounts): string {
  const left = leftOutText({ unfinished, unrewarded: unrewarded?.trajectories });
  return unfinished ? `${left} (--outcome takes failed and cancelled ones)` : left;
}

function leftOutText({
  unfinished,
  unrewarded,
}: {
  readonly unfinished?: number | undefined;
  readonly unrewarded?: number | undefined;
}): string {
  const failed = unfinished ? `; ${unfinished} failed or cancelled rollouts left out` : '';
  return unrewarded ? `${failed}; ${unrewarded} rollouts left out that have no reward` : failed;
}

/** Whether --out is a folder for the hub. */
function isFolder({ layout }: Pick<ExportFlags, 'layout'>): boolean {
  return layout === 'hf' || layout === 'hf-step';
}

function describeRowsFolder(out: string, { splits, files, ...left }: RowFolderManifest): Lines {
  const parts = Object.entries(splits).map(
    ([split, { lines, trained }]) => `${split}: ${lines} lines, ${trained} replies trained on`,
  );
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return `${out}: ${parts.join('; ')}${leftOutText(left)}; ${files.length} files, ${bytes.toLocaleString('en')} bytes (README.md, ${FOLDER_MANIFEST})`;
}

/** Describes what a file of mined examples holds, and what the gates kept out. */
export function describeRows(out: string, { counts, bytes, sha256 }: Pick<RowManifest, 'counts' | 'bytes' | 'sha256'>): string {
  const kinds = [
    [counts.good, 'good trajectories'],
    [counts.revisions, 'revisions'],
    [counts.pairs, 'pairs'],
    [counts.general, 'general conversations'],
  ].flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${what}`]));
  const dropped = Object.entries(counts.dropped).flatMap(([why, count]) => (count === 0 ? [] : [`${count} by ${why}`]));
  const lost = counts.lost ? `; ${lostText(counts.lost)}` : '';
  const gates = dropped.length === 0 ? '' : `; dropped ${dropped.join(', ')}`;
  return `${out}: ${kinds.join(', ')} in ${counts.lines} lines, ${counts.trees} trees of ${counts.tasks} tasks, ${counts.trained} replies trained on${gates}${leftOutText(counts)}; ${bytes.toLocaleString('en')} bytes, sha256 ${sha256.slice(0, 16)}… (${manifestName(out)})${lost}`;
}

function lostText({ replies, tokens, rows }: Lost): string {
  return `${replies} trained replies (${tokens} sampled tokens) of ${rows} rows left out, as they follow replies that are context`;
}

/** @throws Error for a name whose ending says another form than the file has: readers follow it. */
function refuseEnding({ out, format, layout, tokenizer }: ExportFlags): void {
  if (isFolder({ layout }) || (format === 'trl' && tokenizer !== undefined)) return;
  const isParquet = isExportFormat(format) && formatEntry({ kind: format }).container === 'parquet';
  if (!isParquet && out.endsWith('.parquet'))
    throw new Error(
      `--format ${format} writes JSON lines: name the file .jsonl; Parquet is --format parquet, verl, or trl --tokenizer DIR`,
    );
  if (isParquet && /\.jsonl?$/.test(out)) throw new Error(`--format ${format} writes Parquet: name the file .parquet`);
}

function choicesOf({ layout, ...flags }: ExportFlags, format: ExportChoices['format']): ExportChoices {
  return { ...flags, format, layout: layout.endsWith('step') ? 'step' : 'trajectory' };
}
