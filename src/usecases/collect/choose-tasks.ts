import type { EnvironmentKind } from '../../environments/environment.ts';

export interface TaskChoice {
  readonly alias: string;
  readonly depth: number | null;
}

/**
 * Chooses `count` tasks spread evenly over the depths an environment has, and over the tasks of each depth: the same ones every
 * time. Opening every task once is the only way to learn its depth and split. @param split only tasks of this one; null takes
 * all.
 */
export async function chooseTasks(
  kind: EnvironmentKind,
  count: number,
  taskSeed: number,
  split: string | null = null,
): Promise<readonly TaskChoice[]> {
  const byDepth = new Map<number, TaskChoice[]>();
  const environment = await kind.create();
  try {
    for (const alias of kind.taskAliases) {
      const { depth, split: own } = await environment.reset({ alias, seed: taskSeed });
      if (split !== null && own !== split) continue;
      const same = byDepth.get(depth ?? 0) ?? [];
      same.push({ alias, depth });
      byDepth.set(depth ?? 0, same);
    }
  } finally {
    await environment.close();
  }
  const depths = [...byDepth.keys()].sort((a, b) => a - b);
  const shares = divide(
    count,
    depths.map((depth) => byDepth.get(depth)?.length ?? 0),
  );
  return depths.flatMap((depth, i) => spread(byDepth.get(depth) ?? [], shares[i] ?? 0));
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
