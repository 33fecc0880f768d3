import type { EnvironmentKind } from '../environments/environment.ts';
import { chooseTasks, namedTasks, TasksRefused } from '../usecases/collect/choose-tasks.ts';
import { wholeNumber } from './with-platform.ts';

export interface TaskFlags {
  /** A count, or `all`. */
  readonly tasks?: string;
  /** Aliases, each as it is. */
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
  if (task) {
    if (tasks !== undefined) throw new Error('--task names tasks, and --tasks counts them: leave one out');
    if (split !== null) throw new Error('--split chooses among all tasks; leave it out, or --task');
    return named(kind, task);
  }
  if (tasks === undefined || tasks === 'all')
    return chooseTasks(kind, tasks ? kind.taskAliases.length : usual, taskSeed, split, surveys);
  const count = countOf(tasks);
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

function countOf(tasks: string): number {
  if (/^\d+$/.test(tasks)) return wholeNumber('--tasks', 1)(tasks);
  const aliases = tasks.split(',').map((each) => each.trim());
  throw new Error(
    `--tasks takes a whole number, or all, not ${JSON.stringify(tasks)}; name tasks by --task ${aliases.map(quoted).join(' ')}`,
  );
}

function quoted(alias: string): string {
  return /^[\w.:/-]+$/.test(alias) ? alias : `'${alias}'`;
}

function named(kind: EnvironmentKind, task: readonly string[]): readonly { readonly alias: string }[] {
  try {
    return namedTasks(kind, [...new Set(task)]);
  } catch (error) {
    throw error instanceof TasksRefused ? new Error(`--task: ${error.message}`) : error;
  }
}
