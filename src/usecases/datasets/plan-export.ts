import type { Moment } from '../../projections/as-of/moment.ts';
import type { TrajectoryQuery } from '../../projections/trajectories/trajectory-query.ts';
import { DatasetError } from './dataset-error.ts';
import type { ChatTokenizer } from './export/chat-tokenizer.ts';
import { contextOf } from './export/format.ts';
import { type ExportFormat, formatEntry, isExportFormat } from './export/formats.ts';
import { parseChoices } from './export/parse-trajectory-query.ts';
import type { Truths } from './export/truths.ts';
import type { ExportChoices, RowChoices } from './export-choices.ts';
import type { ExportParameters } from './export-query.ts';
import { ROW_FORMATS, type RowData, type RowFormat, type RowGates, type RowParameters } from './rows/row-options.ts';
import { momentOf } from './tables/table-query.ts';

/** What the machine of a command line has besides. */
export interface ExportHelpers {
  readonly tokenizer?: ChatTokenizer | undefined;
  readonly truths?: Truths | undefined;
  /** Of a file of token ids. */
  readonly container?: 'parquet' | undefined;
}

/** A file to be written: of whole trajectories, or of examples mined from searched trees. */
export type ExportPlan =
  | { readonly kind: 'trajectories'; readonly format: ExportFormat }
  | { readonly kind: 'rows'; readonly format: RowFormat; readonly parameters: RowParameters };

/** An export as a request asks for it. */
export interface ExportRequest {
  readonly plan: ExportPlan;
  readonly query: TrajectoryQuery;
  readonly empty: 'refuse' | 'allow';
  /** Null is now. */
  readonly moment: Moment | null;
  readonly answer: 'file' | 'manifest';
}

/** Plans what parsed parameters ask for. @throws DatasetError `invalid-query`, as the command does. */
export function exportRequestOf(given: ExportParameters): ExportRequest {
  return {
    plan: planExport(given),
    query: parseChoices(given),
    empty: given.allowEmpty ? 'allow' : 'refuse',
    moment: momentOf(given),
    answer: given.manifest ? 'manifest' : 'file',
  };
}

/** Plans a file. @throws DatasetError `invalid-query` for choices that do not go together. */
export function planExport(choices: ExportChoices, helpers: ExportHelpers = {}): ExportPlan {
  refuseUseless(choices, helpers);
  const format = trajectoryFormatOf(choices, helpers);
  if (format !== null) return { kind: 'trajectories', format };
  const parameters = parametersOf(choices, { duplicates: 'remove', testTasks: 'keep', evaluations: 'keep' });
  return { kind: 'rows', format: rowFormatWith(choices, helpers), parameters };
}

/** Refuses what a format has no use for, before it is opened. @throws DatasetError `invalid-query`. */
export function refuseUseless(
  { format: kind, layout, data }: ExportChoices,
  given: { readonly tokenizer?: unknown; readonly truths?: unknown },
): void {
  if (layout === 'step' && kind !== 'verl')
    throw invalid(`--layout step is for --format verl: rows of ${kind} are no steps; leave it out`);
  if (given.tokenizer && kind !== 'trl' && (kind !== 'verl' || layout === 'step'))
    throw invalid(
      '--tokenizer is for --format trl, and for verl with --layout trajectory: the other formats hold texts; leave it out',
    );
  if (given.truths && (kind !== 'verl' || data !== 'prompts'))
    throw invalid('--truths is for --format verl --data prompts; leave it out');
}

/** The format of a file of trajectories; null when the examples are mined. */
function trajectoryFormatOf(choices: ExportChoices, helpers: ExportHelpers): ExportFormat | null {
  const { format: kind, weights, data, context, scope, layout } = choices;
  if (kind === 'verl' && data === 'prompts') return { kind: 'verl-prompts', truths: helpers.truths?.sha256 ?? null };
  if (data !== undefined && data !== 'trajectories') return null;
  if (!isExportFormat(kind)) return null; // agent-r and dpo are made of mined examples only
  const metadata = choices.metadata ? 'include' : 'omit';
  const options = { weights, metadata, context, scope, layout, ...tokensOf(helpers) } as const;
  return { kind, ...formatEntry({ kind }).options(options) } as ExportFormat; // of this kind, as its own options are
}

function rowFormatWith(choices: ExportChoices, helpers: ExportHelpers): RowFormat {
  const format = rowFormatOf(choices);
  if (format.kind === 'trl') return { ...format, ...tokensOf(helpers) };
  return format.kind === 'openai' || format.kind === 'sharegpt' ? { ...format, ...contextOf(choices) } : format;
}

function tokensOf({ tokenizer, container }: ExportHelpers): Pick<RowFormat, 'tokenizer' | 'container'> {
  if (!tokenizer) return {};
  return { tokenizer: tokenizer.sha256, ...(container === undefined ? {} : { container }) };
}

/** Reads the format of mined examples. @throws DatasetError `invalid-query` for one that only whole trajectories have. */
export function rowFormatOf({ format: kind, span, metadata }: Pick<RowChoices, 'format' | 'span' | 'metadata'>): RowFormat {
  if (!isOfRows(kind)) throw invalid(`--format ${kind} is not for mined examples; these examples take ${ROW_FORMATS.join(', ')}`);
  return { kind, span, metadata: metadata ? 'include' : 'omit' };
}

function isOfRows(kind: RowChoices['format']): kind is RowFormat['kind'] {
  return ROW_FORMATS.some((each) => each === kind);
}

export function parametersOf(choices: RowChoices, gates: Omit<RowGates, 'maxPerTask'>): RowParameters {
  const { alpha, beta, state, judge, maxPerTask = null } = choices;
  return {
    data: dataOf(choices),
    thresholds: { alpha, beta },
    state,
    ...(judge === undefined ? {} : { judge }),
    gates: { ...gates, maxPerTask },
  };
}

/** Preferences come from pairs unless revisions are asked for; all else trains on good and revised trajectories. */
function dataOf({ data, format }: RowChoices): RowData {
  if (data === 'prompts') throw invalid(`--data prompts is for --format verl, not ${format}`);
  if (data === 'trajectories') throw invalid(`--format ${format} is made of mined examples; leave out --data trajectories`);
  if (data !== undefined) return data;
  return format === 'dpo' ? 'pairs' : 'both';
}

function invalid(message: string): DatasetError {
  return new DatasetError('invalid-query', message);
}
