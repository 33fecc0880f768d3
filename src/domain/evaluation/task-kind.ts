import { alfworldTaskType } from './alfworld-task-type.ts';

/** What a record says of a task that its kind follows from. */
export interface RecordedTask {
  readonly environment: string;
  readonly alias: string;
  readonly goal: string;
  /** As the environment names it; left out where it names none. */
  readonly kind?: string | undefined;
}

/**
 * Returns the kind of a task, by which success is summed up: the one that the environment names. Of ALFWorld also where the
 * record names none, since AgentGym's servers name none: by the alias and the goal. Null where
 * neither says it. Every table and every field reads the column that this fills.
 */
export function taskKind({ environment, alias, goal, kind }: RecordedTask): string | null {
  if (kind !== undefined) return kind;
  return /alfworld/i.test(environment) ? alfworldTaskType({ alias, goal }) : null;
}
