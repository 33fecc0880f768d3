import type { EnvironmentKind } from '../environments/environment.ts';
import { chooseTasks, namedTasks, TasksRefused } from '../usecases/collect/choose-tasks.ts';
import { wholeNumber } from './with-platform.ts';

export interface TaskFlags {
  /** A count, `all`, or aliases with commas between them. */
  readonly tasks?: string;
  /** Aliases, each as it is: of a task whose alias is a number, or holds a comma. */
  readonly task?: readonly string[];
  readonly split?: string | undefined;
  readonly taskSeed: number;
}

/** Returns the tasks that the flags mean. @throws Error that names the flag, what is wrong with it, and which tasks there are. */
export async function tasksOf(
  kind: EnvironmentKind,
  { tasks, task, taskSeed, ...flags }: TaskFlags,
  { usual, surveys }: { readonly usual: number; readonly surveys: string },
): Promise<readonly { readonly alias: string }[]> {
  const split = flags.split ?? null;
  if (task && tasks !== undefined) throw new Error('--task names tasks, and --tasks counts or lists them: leave one out');
  const listed = task ?? (tasks?.includes(',') ? tasks.split(',').map((alias) => alias.trim()) : null);
  if (listed) {
    if (split !== null) throw new Error('--split chooses among all tasks; leave it out, or the list of tasks');
    return naming(task ? '--task' : '--tasks', () => namedTasks(kind, [...new Set(listed)]));
  }
  if (tasks === undefined || tasks === 'all')
    return chooseTasks(kind, tasks ? kind.taskAliases.length : usual, taskSeed, split, surveys);
  const count = wholeNumber('--tasks', 1)(tasks);
  const chosen = await chooseTasks(kind, count, taskSeed, split, surveys);
  if (chosen.length === count || (chosen.length === 0 && split !== null)) return chosen;
  const where = split === null ? '' : ` of the split ${JSON.stringify(split)}`;
  throw new Error(
    `--tasks: ${kind.name} has ${chosen.length} tasks${where}, not ${count}; ask for at most ${chosen.length}, or for all${alias(kind, tasks)}`,
  );
}

/** A number may be the alias of a task that is meant. */
function alias(kind: EnvironmentKind, tasks: string): string {
  return kind.taskAliases.includes(tasks) ? `; the task ${tasks} is --task ${tasks}` : '';
}

function naming<T>(flag: string, find: () => T): T {
  try {
    return find();
  } catch (error) {
    throw error instanceof TasksRefused ? new Error(`${flag}: ${error.message}`) : error;
  }
}
