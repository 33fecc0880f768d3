import { Argument, type Command } from 'commander';
import { CODE_VERSION } from '../platform/code-version.ts';
import { type PrepareManifest, prepareDataset } from '../usecases/datasets/prepare/prepare-dataset.ts';
import { RECIPES } from '../usecases/datasets/prepare/recipes.ts';
import { stoppable } from './stoppable.ts';
import { type Lines, print, progressLine } from './terminal.ts';
import { wantsJson, wholeNumber } from './with-platform.ts';

interface PrepareFlags {
  readonly from: string;
  readonly out: string;
  readonly train?: number;
  readonly test?: number;
  readonly seed: number;
  readonly instruction?: string;
  readonly skipBad?: boolean;
  readonly force?: boolean;
}

/**
 * `espalier prepare`: a published data set as tasks for our environments and as verl's rows. It needs neither log nor database.
 */
export function addPrepare(program: Command): void {
  const command = program
    .command('prepare')
    .addArgument(new Argument('<dataset>', 'which data set the files are').choices(Object.keys(RECIPES)))
    .requiredOption('--from <path>', 'a file of the data set (.json, .jsonl, .parquet), or a folder of them')
    .requiredOption('--out <folder>', 'the output folder')
    .option('--train <n>', 'number of train questions (default: all)', wholeNumber('--train', 0))
    .option('--test <n>', 'number of test questions (default: all of the test files)', wholeNumber('--test', 0))
    .option('--seed <n>', 'of the draw', wholeNumber('--seed', 0), 0)
    .option('--instruction <text>', "what verl's prompts say after the question")
    .option('--skip-bad', 'skip and count broken rows instead of stopping at the first')
    .option('--force', 'replace a folder made by this command');
  command.action(async (dataset: string, flags: PrepareFlags) => {
    const recipe = RECIPES[dataset];
    if (recipe === undefined) throw new Error(`there is no data set ${dataset}`); // commander has refused it already
    const line = progressLine();
    const manifest = await stoppable((signal) =>
      prepareDataset({
        recipe,
        from: flags.from,
        out: flags.out,
        existing: flags.force ? 'replace' : 'refuse',
        seed: flags.seed,
        train: flags.train ?? null,
        test: flags.test ?? null,
        malformed: flags.skipBad ? 'skip' : 'refuse',
        instruction: flags.instruction ?? null,
        codeVersion: CODE_VERSION,
        signal,
        onRow: (rows) => {
          if (rows % 1_000 === 0) line.show(`reading: ${rows.toLocaleString('en')} rows`);
        },
      }),
    );
    line.end();
    print(wantsJson(command) ? JSON.stringify(manifest) : describe(flags.out, manifest));
  });
}

function describe(out: string, { dataset, options, files, counts, available, malformed, outputs }: PrepareManifest): Lines {
  const left = [
    [counts.unanswerable, 'unanswerable'],
    [counts.withoutAnswer, 'without an answer'],
    [counts.malformed, 'malformed'],
    [counts.duplicates, 'asked twice'],
    [counts.leaked, 'for training that the test side asks too'],
  ].flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${what}`]));
  return [
    `${dataset}: ${counts.rows.toLocaleString('en')} rows of ${files.length} ${files.length === 1 ? 'file' : 'files'}; left out: ${left.join(', ') || 'none'}`,
    ...malformed.map((each) => `  ${each}`),
    `drawn with seed ${options.seed}: ${counts.train} of ${available.train} to train on, ${counts.test} of ${available.test} to test on`,
    ...outputs.map(
      ({ name, rows, bytes, sha256 }) =>
        `${out}/${name}: ${rows} rows, ${bytes.toLocaleString('en')} bytes, sha256 ${sha256.slice(0, 16)}…`,
    ),
  ];
}
