import type { Environment, StepResult, TaskStart } from './environment.ts';
import { sameText } from './same-text.ts';

/** A task and what was done and seen in it so far. */
export interface EpisodePath {
  readonly task: TaskStart;
  readonly firstObservation: string;
  readonly steps: readonly { readonly action: string; readonly observation: string }[];
}

/**
 * Brings an environment to the end of a path in one request, every observation compared, and returns what its steps answered.
 * Null where it has no such request, or where anything differs: then whoever asks goes there step by step and finds out what
 * does.
 * @throws EnvironmentError as reset and step do.
 */
export async function replayAtOnce(
  environment: Environment,
  { task, firstObservation, steps }: EpisodePath,
): Promise<readonly StepResult[] | null> {
  if (!environment.replay || steps.length === 0) return null;
  const actions = steps.map(({ action }) => action);
  const { opening, steps: taken } = await environment.replay(task, actions);
  if (taken.length < steps.length || !sameText(opening.observation, firstObservation)) return null;
  return taken.every(({ observation }, i) => sameText(observation, steps[i]?.observation ?? '')) ? taken : null;
}
