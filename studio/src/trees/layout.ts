import { tree as arrange, hierarchy } from 'd3-hierarchy';
import type { TreeStep } from './use-outline.ts';

/** A node as it is drawn: a step, or a chain of steps without branches that is collapsed into its last one. */
export interface Node {
  readonly step: TreeStep;
  /** The steps of a collapsed chain, the first one first; the step alone otherwise. */
  readonly chain: readonly TreeStep[];
  readonly parent: Node | null;
  readonly children: readonly Node[];
  /** Steps at and below it. */
  readonly below: number;
  /** Places in the drawing: across by depth of branching, down by order. */
  readonly x: number;
  readonly y: number;
}
/** A tree with places. */
export interface Layout {
  readonly nodes: readonly Node[];
  readonly byStep: ReadonlyMap<string, Node>;
  readonly width: number;
  readonly height: number;
}

export const ACROSS = 104;
export const DOWN = 16;

interface Draft {
  readonly step: TreeStep;
  readonly chain: readonly TreeStep[];
  readonly children: readonly Draft[];
}

/** Places the steps of a tree: chains without branches are one node where `collapse` says so. */
export function layOut(steps: readonly TreeStep[], rootId: string, collapse: boolean): Layout {
  const children = Map.groupBy(
    steps.filter(({ parentId }) => parentId !== null),
    ({ parentId }) => parentId,
  );
  const root = steps.find(({ id }) => id === rootId);
  if (!root) return { nodes: [], byStep: new Map(), width: 0, height: 0 };
  const placed = arrange<Draft>().nodeSize([DOWN, ACROSS])(hierarchy(draft(root, children, collapse), (each) => each.children));
  let top = 0;
  let bottom = 0;
  placed.each(({ x = 0 }) => {
    top = Math.min(top, x);
    bottom = Math.max(bottom, x);
  });
  const nodes: Node[] = [];
  const byStep = new Map<string, Node>();
  const made = new Map<unknown, { children: Node[]; parent: Node | null } & Omit<Node, 'children' | 'parent'>>();
  placed.eachBefore((each) => {
    const parent = each.parent ? (made.get(each.parent) ?? null) : null;
    const node = {
      step: each.data.step,
      chain: each.data.chain,
      parent: parent as Node | null,
      children: [] as Node[],
      below: 0,
      x: each.y ?? 0,
      y: (each.x ?? 0) - top,
    };
    parent?.children.push(node);
    made.set(each, node);
    nodes.push(node);
    for (const step of each.data.chain) byStep.set(step.id, node);
  });
  const below = new Map<Node, number>();
  for (const node of nodes.toReversed()) {
    const count = node.chain.length + node.children.reduce((sum, child) => sum + (below.get(child) ?? 0), 0);
    below.set(node, count);
    (node as { below: number }).below = count;
  }
  return { nodes, byStep, width: (placed.height + 1) * ACROSS, height: bottom - top };
}

/** Makes the tree from its root without recursion: a path may have 10,000 steps. */
function draft(root: TreeStep, children: ReadonlyMap<string | null, readonly TreeStep[]>, collapse: boolean): Draft {
  const top: { step: TreeStep; chain: TreeStep[]; children: Draft[] } = { step: root, chain: [root], children: [] };
  const open = [top];
  for (let node = open.pop(); node; node = open.pop()) {
    let next = children.get(node.step.id) ?? [];
    while (collapse && next.length === 1 && node.step.id !== root.id) {
      node.step = next[0]!;
      node.chain.push(node.step);
      next = children.get(node.step.id) ?? [];
    }
    for (const step of next) {
      const child = { step, chain: [step], children: [] };
      node.children.push(child);
      open.push(child);
    }
  }
  return top;
}
