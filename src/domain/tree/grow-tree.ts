/** What every row of a tree holds, whatever else it carries: its place. The root has no parent. */
export interface TreeStep {
  readonly stepId: string;
  readonly parentStepId: string | null;
}

/** A step in its place. `children` keep the order of the rows they came from. */
export interface TreeNode<S extends TreeStep> {
  readonly step: S;
  readonly parent: TreeNode<S> | null;
  readonly children: readonly TreeNode<S>[];
}

export interface Tree<S extends TreeStep> {
  readonly root: TreeNode<S>;
  /** Every node by its step id, in the order of the rows. */
  readonly nodes: ReadonlyMap<string, TreeNode<S>>;
}

/**
 * Folds the rows of one tree, in any order, into nodes that know their parent and children.
 * @throws RangeError that names the step when a row occurs twice, a parent is missing, there is not exactly one root, or rows
 * form a ring.
 */
export function growTree<S extends TreeStep>(rows: readonly S[]): Tree<S> {
  const nodes = new Map<string, Growing<S>>();
  for (const step of rows) {
    if (nodes.has(step.stepId)) throw new RangeError(`step ${step.stepId} occurs twice among the rows of the tree`);
    nodes.set(step.stepId, { step, parent: null, children: [] });
  }
  let root: Growing<S> | undefined;
  for (const node of nodes.values()) {
    const { stepId, parentStepId } = node.step;
    if (parentStepId === null) {
      if (root) throw new RangeError(`steps ${root.step.stepId} and ${stepId} are both roots; a tree has one`);
      root = node;
      continue;
    }
    const parent = nodes.get(parentStepId);
    if (!parent) throw new RangeError(`step ${stepId} hangs on step ${parentStepId}, which is not among the rows of the tree`);
    node.parent = parent;
    parent.children.push(node);
  }
  if (!root) throw new RangeError('the tree has no root: no row without a parent');
  if (nodes.size > 1) refuseRings(root, nodes);
  return { root, nodes };
}

interface Growing<S extends TreeStep> extends TreeNode<S> {
  parent: Growing<S> | null;
  readonly children: Growing<S>[];
}

/** Every row has a parent among the rows, so what the root does not reach is a ring or hangs on one. */
function refuseRings<S extends TreeStep>(root: Growing<S>, nodes: ReadonlyMap<string, Growing<S>>): void {
  const reached = new Set<string>();
  for (const node of walkDown(root)) reached.add(node.step.stepId);
  if (reached.size === nodes.size) return;
  for (const stepId of nodes.keys())
    if (!reached.has(stepId)) throw new RangeError(`step ${stepId} is its own ancestor or hangs on one that is`);
}

/** Walks a subtree, parents before children. A loop, not a recursion: a tree may be deeper than the stack. */
export function* walkDown<S extends TreeStep>(from: TreeNode<S>): Generator<TreeNode<S>> {
  const waiting: TreeNode<S>[] = [from];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    yield node;
    for (let i = node.children.length - 1; i >= 0; i--) {
      const child = node.children[i];
      if (child) waiting.push(child);
    }
  }
}

/** Returns the steps nobody went on from, in row order. */
export function leavesOf<S extends TreeStep>(tree: Tree<S>): readonly S[] {
  const leaves: S[] = [];
  for (const node of tree.nodes.values()) if (node.children.length === 0) leaves.push(node.step);
  return leaves;
}

/** Returns the steps from the root to a step, both included. @throws RangeError when the tree has no such step. */
export function pathTo<S extends TreeStep>(tree: Tree<S>, stepId: string): readonly S[] {
  const path: S[] = [];
  let node = tree.nodes.get(stepId) ?? null;
  if (!node) throw new RangeError(`the tree has no step ${stepId}`);
  for (; node; node = node.parent) path.push(node.step);
  return path.reverse();
}
