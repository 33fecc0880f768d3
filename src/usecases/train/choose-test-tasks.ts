import type { EnvironmentKind } from '../../environments/environment.ts';
import { chooseTasks } from '../collect/choose-tasks.ts';
import type { TrainPlan } from './train-plan.ts';

/** Chooses the tasks that the versions of a training are measured on; none where its plan measures nothing. */
export async function chooseTestTasks(
  kind: EnvironmentKind,
  { evaluation, taskSeed }: Pick<TrainPlan, 'evaluation' | 'taskSeed'>,
  surveys: string,
): Promise<readonly string[]> {
  if (evaluation === null) return [];
  const chosen = await chooseTasks(kind, evaluation.tasks, taskSeed, evaluation.split, surveys);
  return chosen.map(({ alias }) => alias);
}
