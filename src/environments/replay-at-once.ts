import type { Environment, StepResult, TaskStart } from './environment.ts';
import { type PictureIds, type RecordedObservation, sameObservation } from './same-observation.ts';

/** A task and what was done and seen in it so far. */
export interface EpisodePath {
  readonly task: TaskStart;
  readonly firstObservation: string;
  /** Pictures of the first observation; left out by who does not know them. */
  readonly firstPictures?: PictureIds | undefined;
  readonly steps: readonly (RecordedObservation & { readonly action: string })[];
}

/**
 * Brings an environment to the end of a path in one request, every observation compared, and returns what its steps answered.
 * Null where it has no such request, or where anything differs: then whoever asks goes there step by step and finds out what
 * does.
 * @throws EnvironmentError as reset and step do.
 */
export async function replayAtOnce(
  environment: Environment,
  { task, firstObservation, firstPictures, steps }: EpisodePath,
): Promise<readonly StepResult[] | null> {
  if (!environment.replay || steps.length === 0) return null;
  const actions = steps.map(({ action }) => action);
  const { opening, steps: taken } = await environment.replay(task, actions);
  const begins = sameObservation(opening, { observation: firstObservation, pictures: firstPictures });
  if (taken.length < steps.length || !begins) return null;
  return steps.every((recorded, i) => sameObservation(taken[i] as StepResult, recorded)) ? taken : null; // there are as many
}
