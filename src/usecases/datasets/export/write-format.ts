import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { Envelope } from '../../../events/envelope.ts';
import type { Trx } from '../../../postgres/database.ts';
import type { SelectedTree } from '../../../projections/trajectories/select-trajectories.ts';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import { blobLine } from '../carried-blob.ts';
import { type EndLine, eventLine, HEADER } from '../event-line.ts';
import type { ChatTokenizer } from './chat-tokenizer.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { ByteSink, ExportFormat } from './format.ts';
import type { ExportCounts } from './manifest.ts';
import type { PictureFolder } from './picture-folder.ts';
import type { Pictures } from './pictures.ts';
import { streamEvents } from './stream-events.ts';
import { streamTrajectories } from './stream-trajectories.ts';
import { VerlFile } from './verl-file.ts';
import { chatBodies } from './write-chat.ts';
import { grpoBodies } from './write-grpo.ts';
import { openaiBodies } from './write-openai.ts';
import { ParquetRows } from './write-parquet.ts';
import { shareGptBodies } from './write-sharegpt.ts';

export interface WriteJob<Format extends ExportFormat = ExportFormat> {
  readonly trx: Trx;
  readonly blobs: BlobStore;
  readonly query: TrajectoryQuery;
  readonly format: Format;
  readonly file: ByteSink;
  /** The pictures of prompts, and where those go that are not in the file. */
  readonly pictures: Pictures;
  readonly folder: PictureFolder;
  /** Tokenises texts of the format `verl` that have no ids. */
  readonly tokenizer?: ChatTokenizer | undefined;
  readonly signal: AbortSignal;
  /** Called with the number of trajectories that are written. */
  readonly onDone: (done: number) => void;
}

/** Writes every trajectory of a query in one format. Returns what was counted on the way. @throws what the signal aborts with. */
export async function writeFormat(job: WriteJob): Promise<ExportCounts> {
  const { format } = job;
  switch (format.kind) {
    case 'openai':
      return writeBodies(job, (trajectory) => openaiBodies(trajectory, format, job));
    case 'xtuner':
    case 'trl':
      return writeBodies(job, (trajectory) => chatBodies(trajectory, format, job));
    case 'trl-grpo':
      return writeBodies(job, (trajectory) => grpoBodies(trajectory, format, job));
    case 'sharegpt':
      return writeBodies(job, (trajectory) => shareGptBodies(trajectory, format, job));
    case 'parquet':
      return writeParquet({ ...job, format });
    case 'verl':
      return writeVerl({ ...job, format });
    case 'jsonl':
      return writeEvents({ ...job, format });
    default:
      return refuseUnknown(format);
  }
}

type Counting = { -readonly [Name in keyof Omit<ExportCounts, 'leftOut' | 'pictures'>]: number };
/** Writes one trajectory; returns the number of lines or rows it took. */
type WriteOne = (trajectory: ExportTrajectory) => Promise<number>;

function writeBodies(
  job: WriteJob,
  bodiesOf: (trajectory: ExportTrajectory) => Promise<readonly object[]>,
): Promise<ExportCounts> {
  return writeTrajectories(job, async (trajectory) => {
    const bodies = await bodiesOf(trajectory);
    for (const body of bodies) await job.file.write(`${JSON.stringify(body)}\n`);
    return bodies.length;
  });
}

async function writeTrajectories({ trx, query, blobs, signal, onDone }: WriteJob, writeOne: WriteOne): Promise<ExportCounts> {
  const counts = zero();
  let tree = '';
  for await (const trajectory of streamTrajectories(trx, query, blobs)) {
    signal.throwIfAborted();
    counts.lines += await writeOne(trajectory);
    counts.trajectories += 1;
    counts.withoutStep += trajectory.steps.length === 0 ? 1 : 0;
    counts.steps += trajectory.steps.length;
    for (const { tokens } of trajectory.steps) counts.tokens += tokens?.ids.length ?? 0;
    if (trajectory.head.treeId !== tree) counts.trees += 1;
    tree = trajectory.head.treeId;
    onDone(counts.trajectories);
  }
  return counts;
}

async function writeParquet(job: WriteJob<Extract<ExportFormat, { kind: 'parquet' }>>): Promise<ExportCounts> {
  const rows = new ParquetRows(job.file, job.format, job.pictures);
  const counts = await writeTrajectories(job, async (trajectory) => {
    await rows.write(trajectory);
    return 1;
  });
  await rows.finish();
  return counts;
}

async function writeVerl(job: WriteJob<Extract<ExportFormat, { kind: 'verl' }>>): Promise<ExportCounts> {
  const file = new VerlFile(job.file, job.format, job.pictures, job.tokenizer ?? null);
  const counts = await writeTrajectories(job, (trajectory) => file.write(trajectory));
  await file.finish();
  return counts;
}

async function writeEvents(job: WriteJob<Extract<ExportFormat, { kind: 'jsonl' }>>): Promise<ExportCounts> {
  const { trx, query, blobs, format, file, signal, onDone } = job;
  const counts = zero();
  let payloads = 0;
  let leftOut = 0;
  await file.write(`${JSON.stringify(HEADER)}\n`);
  for await (const part of streamEvents(trx, query, blobs, format.scope)) {
    signal.throwIfAborted();
    for (const blob of part.blobs) await file.write(blobLine(blob));
    payloads += part.blobs.length;
    for (const event of part.events) {
      await file.write(eventLine(event));
      counts.lines += 1;
      if (event.type !== 'StepTaken') continue;
      counts.steps += 1;
      counts.tokens += event.data.tokens?.ids.length ?? 0;
    }
    leftOut += part.leftOut;
    if (!part.tree) continue;
    counts.trees += 1;
    counts.trajectories += endsOf(part.tree, part.events);
    onDone(counts.trajectories);
  }
  const end: EndLine = { end: { events: counts.lines } };
  await file.write(`${JSON.stringify(end)}\n`);
  return { ...counts, lines: counts.lines + payloads + 2, ...(leftOut > 0 ? { leftOut } : {}) };
}

/** Counts the chosen rollouts whose end is among the events: a trajectory is in the file when its end is. */
function endsOf(tree: SelectedTree, events: readonly Envelope[]): number {
  const chosen = new Set(tree.rollouts.map(({ rolloutId }) => rolloutId));
  return events.filter((event) => event.type === 'RolloutFinished' && chosen.has(event.data.rolloutId)).length;
}

function zero(): Counting {
  return { trajectories: 0, withoutStep: 0, trees: 0, steps: 0, tokens: 0, lines: 0 };
}

function refuseUnknown(format: never): never {
  throw new TypeError(`an export format without a writer: ${JSON.stringify(format)}`);
}
