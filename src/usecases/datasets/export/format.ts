import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { WeightRule } from '../../../domain/dataset/turn-weights.ts';
import type { Trx } from '../../../postgres/database.ts';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import type { ChatTokenizer } from './chat-tokenizer.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { ExportCounts } from './manifest.ts';
import type { PictureFolder, Pictures } from './pictures.ts';
import type { Truths } from './truths.ts';
import type { ContextRule } from './without-context.ts';

/** What a file of trajectories looks like. Everything that changes its bytes is in it, and so in its manifest. */
export interface TrajectoryFileFormat {
  readonly kind: string;
}

/** A format of files of trajectories: all that is said of it. */
export interface FormatEntry<Format extends TrajectoryFileFormat> {
  readonly kind: Format['kind'];
  /** Raised when its bytes change for equal input. */
  readonly version: number;
  readonly container: 'lines' | 'parquet' | 'events';
  /** What it takes of the options of an export: those that its bytes depend on. */
  readonly options: (given: FormatOptions) => Omit<Format, 'kind'>;
  /** Which reader trains on what of a file: its meaning is lost where a reader passes over a column. */
  readonly notes: (format: Format) => readonly string[];
  readonly write: (job: WriteJob<Format>) => Promise<ExportCounts>;
}

/** What may be chosen of a file, as the options of an export name it. */
export interface FormatOptions {
  readonly weights: WeightRule;
  readonly metadata: 'include' | 'omit';
  readonly context: ContextRule;
  readonly scope: 'trajectories' | 'trees';
  readonly layout: 'trajectory' | 'step';
  /** SHA-256 of the tokenizer, and of the ground truths, that were named. */
  readonly tokenizer?: string | undefined;
  readonly truths?: string | undefined;
  /** Of a file of token ids, by its name. */
  readonly container?: 'parquet' | undefined;
}

/** What a format keeps of the rule for context. */
export function contextOf({ context }: Pick<FormatOptions, 'context'>): { readonly context?: Exclude<ContextRule, 'keep'> } {
  return context === 'keep' ? {} : { context };
}

export interface WriteJob<Format extends TrajectoryFileFormat = TrajectoryFileFormat> {
  readonly trx: Trx;
  readonly blobs: BlobStore;
  readonly query: TrajectoryQuery;
  readonly format: Format;
  readonly file: ByteSink;
  /** The pictures of prompts, and where those go that are not in the file. */
  readonly pictures: Pictures;
  readonly folder: Pick<PictureFolder, 'keep'>;
  /** Tokenises texts of `verl` and `trl` that have no ids. */
  readonly tokenizer?: ChatTokenizer | undefined;
  /** What counts as right in the tasks of `verl-prompts`. */
  readonly truths?: Truths | undefined;
  readonly signal: AbortSignal;
  /** Which trajectories are written; left out, all of the query. */
  readonly only?: (trajectory: ExportTrajectory) => boolean;
  /** Called with the number of trajectories that are written. */
  readonly onDone: (done: number) => void;
}

/** Where a format's bytes go; `AtomicFile` is one. */
export interface ByteSink {
  write(data: string | Uint8Array): Promise<void>;
  /** Of a sink of several files: whether the open one has its size. Who writes lines need not ask. */
  readonly isFull?: boolean;
  /** Ends the open file; what is written next begins another. */
  next?(): Promise<void>;
}
