import type { PreferenceSpan } from '../../domain/dataset/preference.ts';
import type { WeightRule } from '../../domain/dataset/turn-weights.ts';
import { EXPORT_FORMATS, type ExportFormat } from './export/formats.ts';
import type { ContextRule } from './export/without-context.ts';
import { ROW_FORMATS, type RowData, type RowFormatKind, type RowParameters } from './rows/row-options.ts';

/** What may be chosen of each option, the default first. */
export const WEIGHTS = ['own', 'policy'] as const satisfies readonly WeightRule[];
export const CONTEXTS = ['refuse', 'drop', 'keep'] as const satisfies readonly ContextRule[];
export const SCOPES = ['trajectories', 'trees'] as const;
export const LAYOUTS = ['trajectory', 'step'] as const;
export const STATES = ['verified', 'composed'] as const;
export const SPANS = ['reply', 'trajectory'] as const satisfies readonly PreferenceSpan[];
/** Left out, it follows from the format. */
export const DATA = ['trajectories', 'prompts', 'good', 'revisions', 'both', 'pairs'] as const satisfies readonly (
  | RowData
  | 'trajectories'
  | 'prompts'
)[];

export type FileFormat = RowFormatKind | Exclude<ExportFormat['kind'], 'verl-prompts'>;
/** The formats of a file, by name: those of mined examples, and those of whole trajectories alone. */
export const FILE_FORMATS: readonly FileFormat[] = [...new Set([...ROW_FORMATS, ...EXPORT_FORMATS])].filter(
  (kind) => kind !== 'verl-prompts', // it is verl with --data prompts
);

/** What is said of mined examples. */
export interface RowChoices {
  readonly format: FileFormat;
  readonly data?: (typeof DATA)[number] | undefined;
  readonly alpha: number;
  readonly beta: number;
  readonly state: RowParameters['state'];
  readonly judge?: string | undefined;
  readonly span: PreferenceSpan;
  readonly metadata: boolean;
  readonly maxPerTask?: number | undefined;
}

/** What a file holds and how it is written, as a command line or a request says it. */
export interface ExportChoices extends RowChoices {
  readonly weights: WeightRule;
  readonly context: ContextRule;
  readonly scope: (typeof SCOPES)[number];
  readonly layout: (typeof LAYOUTS)[number];
}
