import type { TreePageQuery } from '../../../graphql/studio/generated/operations.ts';
import { colourOf, scaleOf } from '../parts/colour.ts';
import type { Layout, Node } from './layout.ts';
import type { Simulated, StatisticsByStep } from './search.ts';

/** What the colour of a node says. */
export type Colouring = 'value' | 'success' | 'reward';

/** How the nodes of a tree look. */
export interface Paint {
  colour(node: Node): string | null;
  /** Pixels: the square root of its visits, or of the steps below it. */
  width(node: Node): number;
  /** The last simulation went through it. */
  onPath(node: Node): boolean;
  /** The last simulation was the first to visit it. */
  fresh(node: Node): boolean;
  /** The search had not visited it. */
  unseen(node: Node): boolean;
  readonly low: string;
  readonly high: string;
}

/** Decides how nodes look. */
export function paintOf(
  layout: Layout,
  {
    colouring,
    statistics,
    simulated,
    rollouts,
  }: {
    readonly colouring: Colouring;
    readonly statistics: StatisticsByStep;
    readonly simulated: Simulated | null;
    readonly rollouts: NonNullable<TreePageQuery['tree']>['rollouts'];
  },
): Paint {
  const values = colouring === 'success' ? successes(layout, rollouts) : new Map<Node, number>();
  if (colouring !== 'success')
    for (const node of layout.nodes) {
      const value =
        colouring === 'value'
          ? statistics.get(node.step.id)?.value
          : node.chain.reduce<number | undefined>((sum, { reward }) => (reward === null ? sum : (sum ?? 0) + reward), undefined);
      if (value !== undefined) values.set(node, value);
    }
  const [low, high] = scaleOf(values.values());
  const searched = statistics.size > 0;
  let most = 1;
  for (const { visits } of statistics.values()) most = Math.max(most, visits);
  const visitsOf = (node: Node) => statistics.get(node.step.id)?.visits ?? 0;
  return {
    colour: (node) => {
      const value = values.get(node);
      return value === undefined ? null : colourOf(value, low, high);
    },
    width: (node) =>
      searched
        ? 1 + 7 * Math.sqrt(visitsOf(node) / most)
        : 1 + 5 * Math.sqrt(node.below / Math.max(1, layout.nodes[0]?.below ?? 1)),
    onPath: (node) => simulated?.path.has(node.step.id) ?? false,
    fresh: (node) => node.chain.some(({ id }) => simulated?.fresh.has(id)),
    unseen: (node) => searched && visitsOf(node) === 0,
    low: colourOf(0, 0, 1),
    high: colourOf(1, 0, 1),
  };
}

/** The share of successes among the rollouts that go through a node. */
function successes(layout: Layout, rollouts: NonNullable<TreePageQuery['tree']>['rollouts']): Map<Node, number> {
  const sums = new Map<Node, { of: number; won: number }>();
  for (const { leafId, success } of rollouts) {
    if (leafId === null || success === null) continue;
    for (let node: Node | null = layout.byStep.get(leafId) ?? null; node; node = node.parent) {
      const sum = sums.get(node) ?? { of: 0, won: 0 };
      sums.set(node, { of: sum.of + 1, won: sum.won + (success ? 1 : 0) });
    }
  }
  return new Map([...sums].map(([node, { of, won }]) => [node, won / of]));
}
