import type { Command } from 'commander';
import { positionAfter } from '../log/position.ts';
import { CODE_VERSION } from '../platform/code-version.ts';
import { openAppender } from '../platform/open-appender.ts';
import type { Platform } from '../platform/open-platform.ts';
import type { Moment } from '../projections/as-of/moment.ts';
import { type DatasetRecord, readDatasets } from '../projections/datasets/read-datasets.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { parseChoices, type QueryChoices } from '../usecases/datasets/export/parse-trajectory-query.ts';
import { parametersOf, rowFormatOf } from '../usecases/datasets/plan-export.ts';
import {
  findDataset,
  type ReleaseOptions,
  releaseDataset,
  withdrawDataset,
} from '../usecases/datasets/release/release-dataset.ts';
import { AS_OF, atMoment, parseMoment } from './at-moment.ts';
import { addQueryOptions, describeRows } from './export.ts';
import { addRowOptions, generalOf, type RowFlags } from './row-flags.ts';
import { print, progressLine, table } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

interface ReleaseFlags extends QueryChoices, RowFlags {
  readonly name: string;
  readonly out: string;
  readonly includeEvaluations?: true;
  readonly force?: boolean;
  readonly asOf?: Moment;
}

const WAIT_MS = 60_000;

/** `espalier dataset`: freezes training data under a name and version, lists what was frozen, withdraws what must not be used. */
export function addDataset(program: Command): void {
  const dataset = program.command('dataset');
  addRelease(dataset);
  const list = dataset
    .command('list')
    .description('list the releases')
    .option('--as-of <moment>', `the list ${AS_OF}`, parseMoment);
  list.action(({ asOf }: { asOf?: Moment }) =>
    withPlatform('dataset', async (platform, signal) => {
      const records = await atMoment(platform, asOf, 'all', signal, readDatasets);
      if (wantsJson(list)) return print(JSON.stringify(records));
      print(records.length === 0 ? 'no dataset was released yet' : table(HEADER, records.map(rowOf)));
    }),
  );
  const withdraw = dataset
    .command('withdraw')
    .description('withdraw a dataset from training; it stays on record')
    .argument('<dataset>', 'its id, or name@version')
    .requiredOption('--reason <text>', 'the reason, for those who trained on it');
  withdraw.action((text: string, { reason }: { reason: string }) =>
    withWriting(async (writing) => {
      const record = await withdrawDataset(writing, findDataset(await readDatasets(writing.db), text), reason);
      print(
        wantsJson(withdraw) ? JSON.stringify(record) : `${record.name}@${record.version} is withdrawn: ${record.withdrawReason}`,
      );
    }),
  );
}

function addRelease(dataset: Command): void {
  const command = addQueryOptions(addRowOptions(dataset.command('release'), 'xtuner'))
    .description('freeze mined examples without duplicates, tasks of a test split, or evaluations; equal releases are one')
    .requiredOption('--name <name>', 'the name of the dataset; different content becomes its next version')
    .requiredOption('--out <file>', 'the output file; its manifest is written to _manifests beside it')
    .option('--as-of <moment>', `examples of the record ${AS_OF}`, parseMoment)
    .option('--include-evaluations', 'include rollouts of evaluations and of channels other than train, and tasks of evaluations')
    .option('--force', 'replace an existing file of other content');
  command.action((flags: ReleaseFlags) => {
    const query = parseChoices(flags);
    const format = rowFormatOf(flags);
    const parameters = parametersOf(flags, {
      duplicates: 'remove',
      testTasks: 'remove',
      evaluations: flags.includeEvaluations ? 'keep' : 'remove',
    });
    return withWriting(async (writing, platform, signal) => {
      const line = progressLine();
      const {
        kind,
        dataset: record,
        manifest,
      } = await atMoment(platform, flags.asOf, 'all', signal, (source) =>
        releaseDataset({
          ...writing,
          source,
          blobs: platform.blobs,
          query,
          format,
          parameters,
          general: generalOf(flags),
          name: flags.name,
          out: flags.out,
          signal,
          existing: flags.force ? 'replace' : 'same',
          codeVersion: CODE_VERSION,
          waitMs: WAIT_MS,
          onProgress: (lines) => line.show(`releasing: ${lines} lines`),
        }),
      );
      line.end();
      if (wantsJson(command)) return print(JSON.stringify({ kind, dataset: record }));
      print(`${record.name}@${record.version} ${kind === 'released' ? 'released' : 'was released before'}: ${record.id}`);
      print(describeRows(flags.out, manifest));
    });
  });
}

type Writing = Pick<ReleaseOptions, 'db' | 'appender' | 'settled'>;

async function withWriting(use: (writing: Writing, platform: Platform, signal: AbortSignal) => Promise<void>): Promise<void> {
  await withProjector('dataset', async ({ platform, signal, settle }) => {
    const { db } = platform.database;
    await settle();
    const settled: Writing['settled'] = (receipts) =>
      waitUntilProjected(db, positionAfter(receipts), { timeoutMs: WAIT_MS, signal });
    await use({ db, appender: openAppender(platform, 'datasets'), settled }, platform, signal);
  });
}

const HEADER = ['dataset', 'format', 'lines', 'runs', 'released', 'sha256', 'withdrawn'];
function rowOf({ name, version, format, counts, runs, releasedAt, sha256, withdrawReason }: DatasetRecord): (string | number)[] {
  const lines = typeof counts === 'object' && counts !== null && 'lines' in counts ? String(counts.lines) : '';
  const released = releasedAt.toISOString().slice(0, 16);
  return [`${name}@${version}`, format, lines, runs.length, released, sha256.slice(0, 16), withdrawReason ?? ''];
}
