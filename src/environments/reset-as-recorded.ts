import type { Environment, Opening, TaskStart } from './environment.ts';
import { type PictureIds, sameObservation } from './same-observation.ts';

export interface Reopened {
  readonly kind: 'same' | 'differs';
  readonly opening: Opening;
}

/**
 * Starts a task and compares its first observation with the recorded one, and its pictures where they are named. A difference is
 * repeated once while no other task starts on the same server: a server whose tasks share one random state opens some of them
 * otherwise when two start at the same time, and that says nothing about the record. @throws EnvironmentError as `reset` does.
 */
export async function resetAsRecorded(
  environment: Environment,
  task: TaskStart,
  observation: string,
  pictures?: PictureIds,
): Promise<Reopened> {
  const recorded = { observation, pictures };
  const opening = await environment.reset(task);
  if (sameObservation(opening, recorded)) return { kind: 'same', opening };
  const alone = await environment.reset({ ...task, mode: 'alone' });
  return { kind: sameObservation(alone, recorded) ? 'same' : 'differs', opening: alone };
}
