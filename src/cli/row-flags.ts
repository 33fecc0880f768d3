import { type Command, Option } from 'commander';
import { THRESHOLD_DEFAULTS } from '../domain/revision/thresholds.ts';
import { DATA, FILE_FORMATS, type RowChoices, SPANS, STATES } from '../usecases/datasets/export-choices.ts';
import type { GeneralOptions } from '../usecases/datasets/rows/general-data.ts';
import { numberBetween, wholeNumber } from './with-platform.ts';

/** What the command line says of mined examples; shared by `export` and `dataset release`. */
export interface RowFlags extends RowChoices {
  readonly general?: string;
  readonly eta: number;
  readonly seed: number;
}

const ETA = 0.2; // the paper's (specification of Agent-R, §3.1): the share of agent data, not of the general data

/** Adds the options of mined examples to a command. @param format the one that is taken when none is named. */
export function addRowOptions(command: Command, format: RowFlags['format']): Command {
  return command
    .addOption(new Option('--format <format>', 'the file format').choices(FILE_FORMATS).default(format))
    .addOption(
      new Option(
        '--data <data>',
        'what is exported: whole trajectories, prompts to sample from (verl: a row per task and ground truth), or examples of searched trees',
      ).choices(DATA),
    )
    .option('--alpha <number>', 'mined: minimum return of a good leaf', numberBetween('--alpha', 0, 1), THRESHOLD_DEFAULTS.alpha)
    .option('--beta <number>', 'mined: minimum gap to the bad one', numberBetween('--beta', 0, 1), THRESHOLD_DEFAULTS.beta)
    .addOption(
      new Option('--state <state>', 'revisions: only verified ones, or also unexecuted ones').choices(STATES).default('verified'),
    )
    .option('--judge <judge>', 'revisions: only of this judge, as name or name@revision')
    .addOption(
      new Option('--span <span>', 'dpo: the first different reply, or everything after the branch (its observations need a mask)')
        .choices(SPANS)
        .default('reply'),
    )
    .option('--no-metadata', 'omit the origin of each line')
    .option('--general <file>', 'mix in general conversations: ShareGPT or chats')
    .option('--eta <share>', 'the share of agent examples in the mixture', numberBetween('--eta', 0, 1), ETA)
    .option('--seed <n>', 'seed of the order of the general conversations', wholeNumber('--seed', 0), 0)
    .option('--max-per-task <n>', 'mined: maximum examples of a task and kind', wholeNumber('--max-per-task', 1));
}

export function generalOf({ general, eta, seed }: RowFlags): GeneralOptions | null {
  return general === undefined ? null : { path: general, eta, seed };
}
