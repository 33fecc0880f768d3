import type { EnvironmentKind, TaskTraits } from '../../environments/environment.ts';

export interface TaskChoice {
  readonly alias: string;
  readonly depth: number | null;
}

/** What `chooseTasks` cannot choose. */
export class TasksRefused extends RangeError {
  override readonly name = 'TasksRefused';
}

/**
 * Chooses `count` tasks spread evenly over the depths an environment has, and over the tasks of each depth: the same ones every
 * time. @param split only tasks of this one; null takes all.
 */
export async function chooseTasks(
  kind: EnvironmentKind,
  count: number,
  taskSeed: number,
  split: string | null = null,
): Promise<readonly TaskChoice[]> {
  const all = await traitsOf(kind, taskSeed);
  const byDepth = new Map<number, TaskChoice[]>();
  for (const { alias, depth, split: own } of all) {
    if (split !== null && own !== split) continue;
    const same = byDepth.get(depth ?? 0) ?? [];
    same.push({ alias, depth });
    byDepth.set(depth ?? 0, same);
  }
  const depths = [...byDepth.keys()].sort((a, b) => a - b);
  const shares = divide(
    count,
    depths.map((depth) => byDepth.get(depth)?.length ?? 0),
  );
  return depths.flatMap((depth, i) => spread(byDepth.get(depth) ?? [], shares[i] ?? 0));
}

/**
 * Finds the tasks that are named. @throws TasksRefused for one that the environment does not have.
 */
export function namedTasks(kind: EnvironmentKind, aliases: readonly string[]): readonly { readonly alias: string }[] {
  const unknown = aliases.find((alias) => !kind.taskAliases.includes(alias));
  if (unknown === undefined) return aliases.map((alias) => ({ alias }));
  throw new TasksRefused(
    `${kind.name} has no task ${JSON.stringify(unknown)}; it has ${kind.taskAliases.length}, ${kind.taskAliases[0]} to ${kind.taskAliases.at(-1)}`,
  );
}

/** Returns depth and split of every task: as the environment lists them, else by opening each one once. */
async function traitsOf(kind: EnvironmentKind, seed: number): Promise<readonly ({ readonly alias: string } & TaskTraits)[]> {
  const { tasks } = kind;
  if (tasks)
    return kind.taskAliases.map((alias, i) => ({ alias, depth: tasks[i]?.depth ?? null, split: tasks[i]?.split ?? null }));
  const environment = await kind.create();
  try {
    const opened: ({ readonly alias: string } & TaskTraits)[] = [];
    for (const alias of kind.taskAliases) {
      const { depth, split } = await environment.reset({ alias, seed });
      opened.push({ alias, depth, split });
    }
    return opened;
  } finally {
    await environment.close();
  }
}

/** Divides a count over groups as evenly as their sizes allow. */
function divide(count: number, sizes: readonly number[]): number[] {
  const shares = sizes.map(() => 0);
  for (
    let left = Math.min(
      count,
      sizes.reduce((sum, size) => sum + size, 0),
    );
    left > 0;
  ) {
    for (let i = 0; i < sizes.length && left > 0; i++) {
      if ((shares[i] ?? 0) >= (sizes[i] ?? 0)) continue;
      shares[i] = (shares[i] ?? 0) + 1;
      left--;
    }
  }
  return shares;
}

function spread<T>(items: readonly T[], count: number): T[] {
  return Array.from({ length: count }, (_, i) => items[Math.floor((i * items.length) / count)]).filter(
    (item) => item !== undefined,
  );
}
