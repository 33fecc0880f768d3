import { largest } from '../../../src/domain/extremes.ts';

/** A node of a layout, as far as it is counted. */
interface Branching {
  readonly chain: readonly { readonly id: string }[];
  readonly children: readonly Branching[];
}

/** A rollout as far as a tree shows it. */
interface Ended {
  readonly leafId: string | null;
  readonly success: boolean | null;
  readonly return: number | null;
}

/** What a node and all below it amount to. */
export interface Subtree {
  /** Steps below the node. */
  readonly steps: number;
  readonly leaves: number;
  /** Levels below it. */
  readonly depth: number;
  /** Rollouts that end at or below it. */
  readonly rollouts: number;
  /** Those that the environment judged. */
  readonly judged: number;
  readonly successes: number;
  /** Of the rollouts that have a return; null without one. */
  readonly meanReturn: number | null;
  readonly bestReturn: number | null;
}

/** Sums a subtree up. Without recursion: a path may have 10,000 steps. */
export function subtreeOf(node: Branching, rollouts: readonly Ended[]): Subtree {
  const ids = new Set<string>();
  let [leaves, deepest] = [0, 0];
  const open: { readonly at: Branching; readonly level: number }[] = [{ at: node, level: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    for (const { id } of next.at.chain) ids.add(id);
    if (next.at.children.length === 0) leaves++;
    deepest = Math.max(deepest, next.level);
    for (const child of next.at.children) open.push({ at: child, level: next.level + child.chain.length });
  }
  const through = rollouts.filter(({ leafId }) => leafId !== null && ids.has(leafId));
  const returns = through.flatMap((rollout) => rollout.return ?? []);
  return {
    steps: ids.size - node.chain.length,
    leaves,
    depth: deepest,
    rollouts: through.length,
    judged: through.filter(({ success }) => success !== null).length,
    successes: through.filter(({ success }) => success === true).length,
    meanReturn: returns.length === 0 ? null : returns.reduce((sum, each) => sum + each, 0) / returns.length,
    bestReturn: returns.length === 0 ? null : largest(returns),
  };
}
