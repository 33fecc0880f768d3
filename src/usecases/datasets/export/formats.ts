import type { FormatEntry, TrajectoryFileFormat, WriteJob } from './format.ts';
import type { ExportCounts } from './manifest.ts';
import { eventsFormat } from './stream-events.ts';
import { verlFormat } from './verl-file.ts';
import { verlPromptsFormat } from './verl-prompts.ts';
import { atifFormat } from './write-atif.ts';
import { trlFormat, xtunerFormat } from './write-chat.ts';
import { grpoFormat } from './write-grpo.ts';
import { openaiFormat } from './write-openai.ts';
import { parquetFormat } from './write-parquet.ts';
import { shareGptFormat } from './write-sharegpt.ts';

/**
 * The formats of files of trajectories, in the order of the help. What is said of one (its options, version and notes) is in its own
 * file; names, types and manifests follow from this list.
 */
const ENTRIES = [
  openaiFormat,
  xtunerFormat,
  trlFormat,
  grpoFormat,
  shareGptFormat,
  atifFormat,
  parquetFormat,
  verlFormat,
  verlPromptsFormat,
  eventsFormat,
] as const;

type FormatOf<Entry> = Entry extends FormatEntry<infer Format> ? Format : never;
export type ExportFormat = FormatOf<(typeof ENTRIES)[number]>;

/** The names of the formats, in the order of the help. */
export const EXPORT_FORMATS: readonly ExportFormat['kind'][] = ENTRIES.map(({ kind }) => kind);

/** Returns the entry of a format. */
export function formatEntry({ kind }: Pick<ExportFormat, 'kind'>): FormatEntry<TrajectoryFileFormat> {
  const entry = ENTRIES.find((each) => each.kind === kind);
  if (entry === undefined) throw new TypeError(`there is no format ${kind}`);
  return entry as unknown as FormatEntry<TrajectoryFileFormat>; // it is asked about formats of its kind alone
}

/** Whether a name is that of a format. */
export function isExportFormat(kind: string): kind is ExportFormat['kind'] {
  return EXPORT_FORMATS.some((each) => each === kind);
}

/** Writes every trajectory of a query in one format. Returns what was counted on the way. @throws what the signal aborts with. */
export function writeFormat(job: WriteJob<ExportFormat>): Promise<ExportCounts> {
  return formatEntry(job.format).write(job);
}

/** Whether a file is Parquet. */
export function isParquet(format: ExportFormat): boolean {
  return formatEntry(format).container === 'parquet' || (format.kind === 'trl' && format.container === 'parquet');
}
