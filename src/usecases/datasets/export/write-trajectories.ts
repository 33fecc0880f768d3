import { turnWeights, type WeightRule } from '../../../domain/dataset/turn-weights.ts';
import { fitsFloat32 } from '../../../domain/float32.ts';
import { sumAmounts } from '../../../domain/reward/amount.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { WriteJob } from './format.ts';
import { jsonLine } from './json-line.ts';
import type { ExportCounts } from './manifest.ts';
import { streamTrajectories } from './stream-trajectories.ts';
import { stepTokens } from './verl-rows.ts';
import { type ContextRule, contextLost, LostReplies, unweighed } from './without-context.ts';

type Counting = {
  -readonly [Name in keyof Omit<
    ExportCounts,
    'leftOut' | 'pictures' | 'lost' | 'retokenised' | 'unfinished' | 'unclear' | 'unrewarded'
  >]: number;
};
/** Writes one trajectory; returns the number of lines or rows it took. */
type WriteOne = (trajectory: ExportTrajectory) => Promise<number>;

export async function writeTrajectories(
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

export function writeBodies(
  job: WriteJob,
  bodiesOf: (trajectory: ExportTrajectory) => Promise<readonly object[]>,
): Promise<ExportCounts> {
  return writeTrajectories(job, async (trajectory) => {
    const bodies = await bodiesOf(trajectory);
    for (const body of bodies) await job.file.write(jsonLine(body));
    return bodies.length;
  });
}

/** A format that cannot mark every reply as context. */
interface PlainFormat {
  readonly kind: 'openai' | 'sharegpt';
  readonly weights: WeightRule;
  readonly context?: Exclude<ContextRule, 'keep'>;
}

/** Writes rows whose context is taken out where the format asks for that. @throws DatasetError `context`. */
export async function writePlain(
  job: WriteJob<PlainFormat>,
  bodiesOf: (trajectory: ExportTrajectory) => Promise<readonly object[]>,
): Promise<ExportCounts> {
  const { kind, weights, context } = job.format;
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

/** @throws DatasetError `bad-row`: trainers hold rewards in float32, where larger ones are infinite. */
function refuseBeyondFloat32({ head, rollout, returnValue, rewards, steps }: ExportTrajectory): void {
  const ofSteps = steps.map((step) => Object.values(step.rewards));
  const all = [returnValue ?? 0, ...Object.values(rewards), ...ofSteps.flat(), ...ofSteps.map(sumAmounts)];
  const beyond = all.find((value) => !fitsFloat32(value));
  if (beyond === undefined) return;
  throw new DatasetError(
    'bad-row',
    `trajectory ${rollout.rolloutId} of run ${head.runId} has the reward ${beyond}, which is infinite in the float32 of trainers; revise it (espalier score), or leave it out by --return-min and --return-max`,
  );
}

/** Leaves out what nobody rewarded, which is not a reward of 0. */
export async function writeRewarded<Job extends WriteJob>(
  job: Job,
  write: (job: Job) => Promise<ExportCounts>,
): Promise<ExportCounts> {
  const left = { trajectories: 0, trees: 0, steps: 0 };
  const trees = new Set<string>();
  const only = (trajectory: ExportTrajectory) => {
    if (job.only?.(trajectory) === false) return false;
    trees.add(trajectory.head.treeId);
    if (trajectory.returnValue !== null) {
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

export function zero(): Counting {
  return { trajectories: 0, withoutStep: 0, trees: 0, steps: 0, tokens: 0, lines: 0 };
}
