import { DatasetError } from '../dataset-error.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { FormatEntry } from './format.ts';
import { float } from './json-line.ts';
import { partMessages, toolsColumn } from './message-forms.ts';
import { picturesNamed } from './row-metadata.ts';
import { imagesColumn, type PictureShelf, picturesIn, shownExamples } from './shown-steps.ts';
import { othersInside, splitPolicy } from './verl-rows.ts';
import { writeBodies, writeRewarded } from './write-trajectories.ts';

/** One scored completion per line for TRL: prompt, completion, reward, and the group that it is compared in. */
interface GrpoFormat {
  readonly kind: 'trl-grpo';
  readonly metadata: 'include' | 'omit';
}

/**
 * Writes a trajectory as scored completions for TRL, as GRPO and its relatives compare them: `prompt` (what its first reply was
 * asked with), `completion` (its replies and the observations between them), `reward` (its return), `rewards` by component, and
 * `group`, which all completions of one tree share. The observation after the last reply is left out. Where a prompt does not
 * continue the one before, as where the past is drawn into an image, a trajectory is several lines of one reward, and
 * `trajectory` and `part` say which belong together. Steps of others that it begins with are its prompt. None for a trajectory
 * that took no step. @throws DatasetError `context` where another policy, or a person, took a step in the middle.
 */
export async function grpoBodies(
  trajectory: ExportTrajectory,
  { metadata }: GrpoFormat,
  shelf: PictureShelf,
): Promise<readonly object[]> {
  const { head, rewards, returnValue, rollout, steps } = trajectory;
  if (returnValue === null) return []; // `writeRewarded` leaves it out and counts it
  const { context, own } = splitPolicy(trajectory);
  refuseOthers(own, trajectory);
  const says = metadata === 'include';
  const examples = shownExamples(trajectory, { from: context.length, weights: steps.map(() => 1), says });
  return Promise.all(
    examples.map(async ({ row, path, ...example }, index) => {
      const pictures = await picturesIn(row.messages, path, shelf);
      return {
        prompt: partMessages(row.messages.slice(0, row.opening), shelf.pictures.any),
        completion: partMessages(row.messages.slice(row.opening), shelf.pictures.any),
        ...toolsColumn(row.tools),
        ...(await imagesColumn(pictures, shelf)),
        reward: float(returnValue),
        rewards: Object.entries(rewards).map(([component, value]) => ({ component, value: float(value) })),
        group: head.treeId,
        trajectory: rollout.rolloutId,
        part: { index, of: examples.length },
        ...(says ? { metadata: { ...example.metadata, ...picturesNamed(pictures, shelf.pictures) } } : {}),
      };
    }),
  );
}

/** @throws DatasetError: a trainer would count each reply of a completion as the policy's. */
function refuseOthers(own: ExportTrajectory['steps'], { rollout, head }: ExportTrajectory): void {
  const others = othersInside(own, rollout);
  if (others === 0) return;
  throw new DatasetError(
    'context',
    `trl-grpo cannot say which replies of a completion are context: ${others} of trajectory ${rollout.rolloutId} of run ${head.runId} were taken by another than ${rollout.policyId}; export --format verl, which masks them, or leave the run out by a filter`,
  );
}

export const grpoFormat: FormatEntry<GrpoFormat> = {
  kind: 'trl-grpo',
  version: 7,
  container: 'lines',
  options: ({ metadata }) => ({ metadata }),
  notes: () => [
    'note: TRL has no reader of scored completions: GRPOTrainer takes them from a rollout source (espalier_rl.adapters.trl, ScoredCompletions), which masks observations',
  ],
  write: (job) => writeRewarded(job, (each) => writeBodies(each, (trajectory) => grpoBodies(trajectory, job.format, job))),
};
