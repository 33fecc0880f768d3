import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { Trx } from '../../../postgres/database.ts';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import type { ChatTokenizer } from '../export/chat-tokenizer.ts';
import type { ByteSink } from '../export/format.ts';
import { jsonLine } from '../export/json-line.ts';
import { generalMetadata, picturesNamed, rowMetadata } from '../export/row-metadata.ts';
import type { PictureShelf } from '../export/shown-steps.ts';
import { type TokenBody, TokenFile } from '../export/token-body.ts';
import { contextLost, type Lost, LostReplies, unweighed, withoutContext } from '../export/without-context.ts';
import type { MinedLeftOut } from './compose-rows.ts';
import { type GeneralData, generalBodies } from './general-data.ts';
import type { RowFormat, RowParameters } from './row-options.ts';
import { type ExampleBody, inParts, shownBodies } from './shown-bodies.ts';
import { type ChosenRevisions, streamRows } from './stream-rows.ts';
import { DROPPED, type Dropped, type Gate, openGate, type TrainingRow } from './training-row.ts';

export interface RowCounts {
  /** Examples written, by kind; `trl` writes one as several lines. */
  readonly good: number;
  readonly revisions: number;
  readonly pairs: number;
  readonly general: number;
  readonly lines: number;
  readonly trees: number;
  readonly tasks: number;
  /** Replies that are trained on, in agent examples. */
  readonly trained: number;
  /** Trajectories of the query with captured calls next to their path that may belong to it, where there are any and it keeps them. */
  readonly unclear?: number;
  /** Rollouts of the query that are neither good nor bad, where there are any: they failed or were cancelled; nobody rewarded them. */
  readonly unfinished?: number;
  readonly unrewarded?: number;
  readonly dropped: Readonly<Record<Dropped, number>>;
  /** Trained replies that were left out, where the format has no place for them. */
  readonly lost?: Lost;
}

export interface RowsWritten {
  readonly counts: RowCounts;
  /** The runs that the examples come from, in the order of their ids. */
  readonly runs: readonly string[];
}

export interface RowJob extends PictureShelf, ChosenRevisions {
  readonly trx: Trx;
  readonly blobs: BlobStore;
  readonly query: TrajectoryQuery;
  readonly format: RowFormat;
  readonly parameters: RowParameters;
  readonly general: GeneralData | null;
  /** Left out, rows are texts. */
  readonly tokenizer?: ChatTokenizer | undefined;
  /** What decides which examples pass, where several files share it; left out, one is opened. */
  readonly gate?: Gate;
  /** The splits of tasks whose examples are written; left out, all. */
  readonly only?: (split: string | null) => boolean;
  readonly file: ByteSink;
  readonly signal: AbortSignal;
  readonly onDone: (lines: number) => void;
  /** Called for every example as it is written. */
  readonly onExample: (example: WrittenExample) => void;
}

/** The place of an example in its file, and what it was made of. */
export interface WrittenExample {
  /** Its first line, from 1, and how many it takes. */
  readonly line: number;
  readonly lines: number;
  readonly kind: TrainingRow['kind'];
  readonly treeId: string;
  readonly goodRolloutId: string;
  readonly badRolloutId: string | null;
  readonly revisionId: string | null;
}

const COUNTED = { good: 'good', revision: 'revisions', pair: 'pairs' } as const;

/**
 * Writes every example that passes the gates, general ones between them. Returns what was counted. @throws what the signal aborts
 * with.
 */
export async function writeRows(job: RowJob): Promise<RowsWritten> {
  const { trx, blobs, query, format, parameters, general, file, signal, onDone } = job;
  const gate = job.gate ?? (await openGate(trx, parameters.gates));
  const counts = { good: 0, revisions: 0, pairs: 0, general: 0, lines: 0, trained: 0 };
  // One entry for each reason, so that it is complete.
  const dropped = Object.fromEntries(DROPPED.map((reason) => [reason, 0])) as Record<Dropped, number>;
  const trees = new Set<string>();
  const tasks = new Set<string>();
  const runs = new Set<string>();
  const losing = new LostReplies();
  let written = 0;
  const parquet = format.container === 'parquet' ? new TokenFile(file, format) : null;
  const write = async (body: object) => {
    if (parquet)
      await parquet.write(body as TokenBody); // a file of token ids: it has a tokenizer
    else await file.write(jsonLine(format.context === undefined ? body : unweighed(body)));
    counts.lines += 1;
  };
  const leftOut = { unfinished: 0, unrewarded: 0 };
  const { revisionKeys, preferred } = job;
  const onLeftOut = ({ unfinished, unrewarded }: MinedLeftOut, split: string | null) => {
    if (job.only?.(split) === false) return;
    leftOut.unfinished += unfinished;
    leftOut.unrewarded += unrewarded;
  };
  for await (const rows of streamRows(trx, query, blobs, parameters, { revisionKeys, preferred, onLeftOut })) {
    signal.throwIfAborted();
    for (const row of rows) {
      if (job.only?.(row.source.task.split) === false) continue;
      const composed = await shownBodies(row, format, job);
      const shown = format.context === undefined ? composed : composed.flatMap((one) => plain(one, losing));
      const bodies = shown.map(({ body }) => body);
      const saidOf = new Map(shown.map(({ body, said }) => [body, said]));
      if (bodies.length === 0) continue; // nothing in it is trained on
      const judged = gate.judge(row, bodies);
      if ('dropped' in judged) {
        dropped[judged.dropped] += 1;
        continue;
      }
      job.onExample(exampleOf(row, counts.lines + 1, judged.kept.length));
      for (const body of judged.kept) await write(withSource(body, saidOf.get(body), row, format));
      counts[COUNTED[row.kind]] += 1;
      counts.trained += trainedIn(row, format, judged.kept);
      trees.add(row.source.tree);
      tasks.add(row.taskId);
      runs.add(row.source.run);
      for (const messages of general?.behind(++written) ?? []) {
        for (const body of generalBodies(messages, format.kind, job.tokenizer))
          await write(withGeneral(job.tokenizer ? body : inParts(body, format, job), counts.general, job));
        counts.general += 1;
      }
    }
    onDone(counts.lines);
  }
  await parquet?.finish();
  const { lost } = losing;
  if (lost !== null && format.context === 'refuse') throw contextLost(format.kind === 'sharegpt' ? 'sharegpt' : 'openai', lost);
  const all = {
    ...counts,
    trees: trees.size,
    tasks: tasks.size,
    ...(leftOut.unfinished > 0 ? { unfinished: leftOut.unfinished } : {}),
    ...(leftOut.unrewarded > 0 ? { unrewarded: leftOut.unrewarded } : {}),
    dropped,
    ...(lost ? { lost } : {}),
  };
  return { counts: all, runs: [...runs].sort() };
}

/** Counts the replies that are trained on, or preferred: a line of texts of `trl`, and of `dpo` by reply, holds one. */
function trainedIn(
  { turns, pair }: TrainingRow,
  { kind, span, context, tokenizer }: RowFormat,
  lines: readonly object[],
): number {
  if ((kind === 'trl' && tokenizer === undefined) || (kind === 'dpo' && span === 'reply')) return lines.length;
  if (context !== undefined) return lines.reduce((sum, line) => sum + withoutContext(line).kept.length, 0);
  if (kind === 'dpo') return pair === null ? 0 : pair.good.length - pair.branch;
  return turns.filter(({ loss }) => loss).length;
}

/** Takes the context out of a line; none where nothing is left. */
function plain({ body, said }: ExampleBody, losing: LostReplies): readonly ExampleBody[] {
  return losing.plain([body], []).map((left) => ({ body: left, said }));
}

function exampleOf({ kind, source, rollouts }: TrainingRow, line: number, lines: number): WrittenExample {
  const { tree: treeId, revision: revisionId } = source;
  return { line, lines, kind, treeId, goodRolloutId: rollouts.good, badRolloutId: rollouts.bad, revisionId };
}

function withGeneral(body: object, index: number, { format, general, pictures }: RowJob): object {
  if (format.metadata === 'omit' || general === null) return body;
  return { ...body, metadata: { ...generalMetadata(index, general.source.eta), ...picturesNamed([], pictures) } };
}

export function withSource(
  body: object,
  said: ExampleBody['said'] | undefined,
  { source }: TrainingRow,
  { metadata }: RowFormat,
): object {
  if (metadata === 'omit' || !said) return body;
  const { images } = said;
  return { ...body, metadata: { ...rowMetadata(source, said), ...(images ? { images } : {}) } };
}
