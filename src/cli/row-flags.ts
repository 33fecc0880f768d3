import { type Command, Option } from 'commander';
import { THRESHOLD_DEFAULTS } from '../domain/revision/thresholds.ts';
import type { ExportFormat } from '../usecases/datasets/export/format.ts';
import { EXPORT_FORMATS } from '../usecases/datasets/export/formats.ts';
import type { GeneralOptions } from '../usecases/datasets/rows/general-data.ts';
import {
  ROW_FORMATS,
  type RowData,
  type RowFormat,
  type RowGates,
  type RowParameters,
} from '../usecases/datasets/rows/row-options.ts';
import { numberBetween, wholeNumber } from './with-platform.ts';

/** What the command line says of mined examples; shared by `export` and `dataset release`. */
export interface RowFlags {
  readonly format: RowFormat['kind'] | TrajectoryOnly;
  readonly data?: RowData | 'trajectories' | 'prompts';
  readonly alpha: number;
  readonly beta: number;
  readonly state: RowParameters['state'];
  readonly judge?: string;
  readonly span: RowFormat['span'];
  readonly metadata: boolean;
  readonly general?: string;
  readonly eta: number;
  readonly seed: number;
  readonly maxPerTask?: number;
}

/** Formats that are never made of mined examples; prompts of verl are `--data prompts`. */
type TrajectoryOnly = Exclude<ExportFormat['kind'], RowFormat['kind'] | 'verl-prompts'> | 'batches';
const TRAJECTORY_ONLY: readonly string[] = [
  ...Object.keys(EXPORT_FORMATS).filter((kind) => kind !== 'verl-prompts' && !ROW_FORMATS.some((each) => each === kind)),
  'batches',
];

const ETA = 0.2; // the paper's (specification of Agent-R, §3.1): the share of agent data, not of the general data

/** Adds the options of mined examples to a command. @param format the one that is taken when none is named. */
export function addRowOptions(command: Command, format: RowFlags['format']): Command {
  return command
    .addOption(new Option('--format <format>', 'the file format').choices([...ROW_FORMATS, ...TRAJECTORY_ONLY]).default(format))
    .addOption(
      new Option(
        '--data <data>',
        'what is exported: whole trajectories, prompts to sample from (verl: a row per task and ground truth), or examples of searched trees',
      ).choices(['trajectories', 'prompts', 'good', 'revisions', 'both', 'pairs']),
    )
    .option('--alpha <number>', 'mined: minimum return of a good leaf', numberBetween('--alpha', 0, 1), THRESHOLD_DEFAULTS.alpha)
    .option('--beta <number>', 'mined: minimum gap to the bad one', numberBetween('--beta', 0, 1), THRESHOLD_DEFAULTS.beta)
    .addOption(
      new Option('--state <state>', 'revisions: only verified ones, or also unexecuted ones')
        .choices(['verified', 'composed'])
        .default('verified'),
    )
    .option('--judge <judge>', 'revisions: only of this judge, as name or name@revision')
    .addOption(
      new Option('--span <span>', 'dpo: the first different reply, or everything after the branch (its observations need a mask)')
        .choices(['reply', 'trajectory'])
        .default('reply'),
    )
    .option('--no-metadata', 'omit the origin of each line')
    .option('--general <file>', 'mix in general conversations: ShareGPT or chats')
    .option('--eta <share>', 'the share of agent examples in the mixture', numberBetween('--eta', 0, 1), ETA)
    .option('--seed <n>', 'seed of the order of the general conversations', wholeNumber('--seed', 0), 0)
    .option('--max-per-task <n>', 'mined: maximum examples of a task and kind', wholeNumber('--max-per-task', 1));
}

/** Reads the format of mined examples. @throws Error for one that only whole trajectories have. */
export function rowFormatOf({ format: kind, span, metadata }: RowFlags): RowFormat {
  if (isTrajectoryOnly(kind))
    throw new Error(`--format ${kind} is not for mined examples; these examples take ${ROW_FORMATS.join(', ')}`);
  return { kind, span, metadata: metadata ? 'include' : 'omit' };
}

export function parametersOf(flags: RowFlags, gates: Omit<RowGates, 'maxPerTask'>): RowParameters {
  const { alpha, beta, state, judge, maxPerTask = null } = flags;
  return {
    data: dataOf(flags),
    thresholds: { alpha, beta },
    state,
    ...(judge === undefined ? {} : { judge }),
    gates: { ...gates, maxPerTask },
  };
}

export function generalOf({ general, eta, seed }: RowFlags): GeneralOptions | null {
  return general === undefined ? null : { path: general, eta, seed };
}

/** Preferences come from pairs unless revisions are asked for; all else trains on good and revised trajectories. */
function dataOf({ data, format }: RowFlags): RowData {
  if (data === 'prompts') throw new Error(`--data prompts is for --format verl, not ${format}`);
  if (data === 'trajectories') throw new Error(`--format ${format} is made of mined examples; leave out --data trajectories`);
  if (data !== undefined) return data;
  return format === 'dpo' ? 'pairs' : 'both';
}

function isTrajectoryOnly(kind: RowFlags['format']): kind is TrajectoryOnly {
  return TRAJECTORY_ONLY.some((each) => each === kind);
}
