import type { BlobStore } from '../../../blobs/blob-store.ts';
import { turnWeights, type WeightRule } from '../../../domain/dataset/turn-weights.ts';
import type { Envelope } from '../../../events/envelope.ts';
import type { Trx } from '../../../postgres/database.ts';
import type { SelectedTree } from '../../../projections/trajectories/select-trajectories.ts';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import { DatasetError } from '../dataset-error.ts';
import { blobLine, type EndLine, eventLine, HEADER } from '../event-line.ts';
import type { ChatTokenizer } from './chat-tokenizer.ts';
import { type ExportTrajectory, isRewarded } from './export-trajectory.ts';
import type { ByteSink, ExportFormat } from './format.ts';
import { jsonLine } from './json-line.ts';
import type { ExportCounts } from './manifest.ts';
import { ParquetFile } from './parquet-file.ts';
import type { PictureFolder, Pictures } from './pictures.ts';
import { streamEvents } from './stream-events.ts';
import { streamTrajectories } from './stream-trajectories.ts';
import { TokenFile, tokenBodies } from './token-body.ts';
import { goalsAsTruths, type Truths } from './truths.ts';
import { VerlFile } from './verl-file.ts';
import { VerlPrompts, verlPrompts } from './verl-prompts.ts';
import { stepTokens } from './verl-rows.ts';
import { contextLost, LostReplies, unweighed } from './without-context.ts';
import { atifBody } from './write-atif.ts';
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

/** Writes every trajectory of a query in one format. Returns what was counted on the way. @throws what the signal aborts with. */
export async function writeFormat(job: WriteJob): Promise<ExportCounts> {
  const { format } = job;
  switch (format.kind) {
    case 'openai':
      return writePlain(job, format, (trajectory) => openaiBodies(trajectory, format, job));
    case 'trl': {
      const { tokenizer } = job;
      if (format.tokenizer !== undefined && tokenizer) return writeTokens(job, format, tokenizer);
      return writeBodies(job, (trajectory) => chatBodies(trajectory, format, job));
    }
    case 'xtuner':
      return writeBodies(job, (trajectory) => chatBodies(trajectory, format, job));
    case 'trl-grpo':
      return writeRewarded(job, (each) => writeBodies(each, (trajectory) => grpoBodies(trajectory, format, job)));
    case 'sharegpt':
      return writePlain(job, format, (trajectory) => shareGptBodies(trajectory, format, job));
    case 'atif':
      return writeBodies(job, async (trajectory) => (trajectory.steps.length === 0 ? [] : [atifBody(trajectory, format)]));
    case 'parquet':
      return writeParquet({ ...job, format });
    case 'verl':
      return writeRewarded(job, (each) => writeVerl({ ...each, format }));
    case 'verl-prompts':
      return writePrompts(job);
    case 'jsonl':
      return writeEvents({ ...job, format });
    default:
      return refuseUnknown(format);
  }
}

type Counting = {
  -readonly [Name in keyof Omit<
    ExportCounts,
    'leftOut' | 'pictures' | 'lost' | 'retokenised' | 'unfinished' | 'unclear' | 'unrewarded'
  >]: number;
};
/** Writes one trajectory; returns the number of lines or rows it took. */
type WriteOne = (trajectory: ExportTrajectory) => Promise<number>;

function writeBodies(
  job: WriteJob,
  bodiesOf: (trajectory: ExportTrajectory) => Promise<readonly object[]>,
): Promise<ExportCounts> {
  return writeTrajectories(job, async (trajectory) => {
    const bodies = await bodiesOf(trajectory);
    for (const body of bodies) await job.file.write(jsonLine(body));
    return bodies.length;
  });
}

/** @throws DatasetError `bad-row`: trainers hold rewards in float32, where larger ones are infinite. */
function refuseBeyondFloat32({ head, rollout, returnValue, rewards, steps }: ExportTrajectory): void {
  const all = [returnValue, ...[rewards, ...steps.map((step) => step.rewards)].flatMap((sums) => Object.values(sums))];
  const beyond = all.find((value) => !Number.isFinite(Math.fround(value)));
  if (beyond === undefined) return;
  throw new DatasetError(
    'bad-row',
    `trajectory ${rollout.rolloutId} of run ${head.runId} has the reward ${beyond}, which is infinite in the float32 of trainers; revise it (espalier score), or leave it out by --return-min and --return-max`,
  );
}

/** Leaves out what nobody rewarded, which is not a reward of 0. */
async function writeRewarded(job: WriteJob, write: (job: WriteJob) => Promise<ExportCounts>): Promise<ExportCounts> {
  const left = { trajectories: 0, trees: 0, steps: 0 };
  const trees = new Set<string>();
  const only = (trajectory: ExportTrajectory) => {
    if (job.only?.(trajectory) === false) return false;
    trees.add(trajectory.head.treeId);
    if (isRewarded(trajectory)) {
      refuseBeyondFloat32(trajectory);
      return true;
    }
    left.trajectories += 1;
    left.steps += trajectory.steps.length;
    return false;
  };
  const counts = await write({ ...job, only });
  return left.trajectories === 0 ? counts : { ...counts, unrewarded: { ...left, trees: trees.size - counts.trees } };
}

async function writeTokens(
  job: WriteJob,
  format: Extract<ExportFormat, { kind: 'trl' }>,
  tokenizer: ChatTokenizer,
): Promise<ExportCounts> {
  let retokenised = 0;
  const parquet = format.container === 'parquet' ? new TokenFile(job.file, format) : null;
  const counts = await writeTrajectories(job, async (trajectory) => {
    const bodies = tokenBodies(trajectory, format, tokenizer);
    retokenised += bodies.filter(({ tokenised }) => tokenised === 'retokenised').length;
    for (const body of bodies) await (parquet ? parquet.write(body) : job.file.write(jsonLine(body)));
    return bodies.length;
  });
  await parquet?.finish();
  return { ...counts, ...(retokenised > 0 ? { retokenised } : {}) };
}

/** Writes rows whose context is taken out where the format asks for that. @throws DatasetError `context`. */
async function writePlain(
  job: WriteJob,
  { kind, weights, context }: Extract<ExportFormat, { kind: 'openai' | 'sharegpt' }>,
  bodiesOf: (trajectory: ExportTrajectory) => Promise<readonly object[]>,
): Promise<ExportCounts> {
  if (context === undefined) return writeBodies(job, bodiesOf);
  const losing = new LostReplies();
  const counts = await writeBodies(job, async (trajectory) =>
    losing.plain(await bodiesOf(trajectory), sampledTokens(trajectory, weights)).map(unweighed),
  );
  const { lost } = losing;
  if (lost === null) return counts;
  if (context === 'refuse') throw contextLost(kind, lost);
  return { ...counts, lost };
}

/** Counts the sampled tokens of each reply that is trained on, in order; 0 where none are recorded. */
function sampledTokens({ steps, rollout }: ExportTrajectory, rule: WeightRule): readonly number[] {
  const weights = turnWeights(steps, rollout, rule);
  return steps.filter((_, i) => weights[i] === 1).map((step) => stepTokens(step)?.mask.filter((m) => m === 1).length ?? 0);
}

async function writeTrajectories(
  { trx, query, blobs, signal, only, onDone }: WriteJob,
  writeOne: WriteOne,
): Promise<ExportCounts> {
  const counts = zero();
  let tree = '';
  for await (const trajectory of streamTrajectories(trx, query, blobs)) {
    signal.throwIfAborted();
    if (only?.(trajectory) === false) continue;
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
  return { ...counts, ...(file.retokenised > 0 ? { retokenised: file.retokenised } : {}) };
}

async function writePrompts(job: WriteJob): Promise<ExportCounts> {
  const { pictures, truths = goalsAsTruths } = job;
  const file = new ParquetFile(job.file, verlPrompts(pictures, truths.type));
  const prompts = new VerlPrompts(pictures, truths);
  const counts = await writeTrajectories(job, async (trajectory) => {
    let rows = 0;
    for await (const row of prompts.rows(trajectory)) {
      await file.write(row, 2_000 + 2 * (trajectory.head.instruction.length + trajectory.root.observation.length));
      rows += 1;
    }
    return rows;
  });
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
