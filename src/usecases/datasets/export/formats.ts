import type { ExportFormat } from './format.ts';
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
import type { FormatEntry, WriteJob } from './write-trajectories.ts';

/** The formats of files of trajectories. What is said of one (its version, its options, notes for its readers) is in its own file. */
export const EXPORT_FORMATS: { readonly [Kind in ExportFormat['kind']]: FormatEntry<Kind> } = {
  openai: openaiFormat,
  xtuner: xtunerFormat,
  trl: trlFormat,
  'trl-grpo': grpoFormat,
  sharegpt: shareGptFormat,
  atif: atifFormat,
  parquet: parquetFormat,
  verl: verlFormat,
  'verl-prompts': verlPromptsFormat,
  jsonl: eventsFormat,
};

/** Returns the entry of a format, for the format itself. */
export function formatEntry<Format extends ExportFormat>({ kind }: Format): FormatEntry<Format['kind']> {
  return EXPORT_FORMATS[kind] as unknown as FormatEntry<Format['kind']>; // the registry is typed by kind
}

/** Writes every trajectory of a query in one format. Returns what was counted on the way. @throws what the signal aborts with. */
export function writeFormat(job: WriteJob): Promise<ExportCounts> {
  return (formatEntry(job.format) as FormatEntry<ExportFormat['kind']>).write(job);
}

/** Whether a file is Parquet. */
export function isParquet(format: ExportFormat): boolean {
  return EXPORT_FORMATS[format.kind].container === 'parquet' || (format.kind === 'trl' && format.container === 'parquet');
}
