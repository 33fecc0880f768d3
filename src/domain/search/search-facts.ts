import { childrenOf, type NodeEnd, type SearchNode, type SearchState, searchNode } from './search-tree.ts';

/** What happened in a search, as a driver records it and folds it again. */
export type SearchFact =
  | {
      readonly kind: 'child-added';
      readonly simulation: number;
      readonly stepId: string;
      readonly parentStepId: string;
      readonly ordinal: number;
      readonly score: number;
      readonly end: NodeEnd;
      readonly equivalentTo: string | null;
    }
  /**
   * All candidates of the node are known, or nobody could be asked: `reason` says why. Without any child the node is stuck, and
   * ends with the score it has.
   */
  | { readonly kind: 'node-expanded'; readonly simulation: number; readonly stepId: string; readonly reason?: string }
  /** Every step of `path` (root first) gets one visit and `value`. */
  | {
      readonly kind: 'backed-up';
      readonly simulation: number;
      readonly leafStepId: string;
      readonly value: number;
      readonly path: readonly string[];
    };

/**
 * Folds facts into a search, in their order; the search given stays as it is. Many at once cost one copy of the tree.
 * @throws RangeError for a fact that cannot follow: an unknown node, a child twice, below a terminal or an expanded node, or a
 * path that does not lead from the root to its leaf. Such a record is broken, and a search on it would be nonsense.
 */
export function applySearchFacts(state: SearchState, facts: Iterable<SearchFact>): SearchState {
  const draft: Draft = { rootStepId: state.rootStepId, nodes: new Map(state.nodes), walk: state.walk };
  for (const fact of facts) {
    switch (fact.kind) {
      case 'child-added':
        addChild(draft, fact);
        break;
      case 'node-expanded':
        closeExpansion(draft, fact);
        break;
      case 'backed-up':
        backUp(draft, fact);
        break;
      default:
        throw new TypeError(`not a fact of a search: ${JSON.stringify(fact satisfies never)}`);
    }
  }
  return draft;
}

interface Draft extends SearchState {
  readonly nodes: Map<string, SearchNode>;
  walk: SearchState['walk'];
}

function addChild(draft: Draft, { kind: _, simulation, ...child }: SearchFact & { readonly kind: 'child-added' }): void {
  const parent = searchNode(draft, child.parentStepId);
  if (draft.nodes.has(child.stepId)) throw new RangeError(`node ${child.stepId} was added twice`);
  if (parent.expanded || parent.terminal) throw new RangeError(`node ${parent.stepId} takes no more children`);
  draft.nodes.set(parent.stepId, { ...parent, children: [...parent.children, child.stepId] });
  draft.nodes.set(child.stepId, {
    ...child,
    depth: parent.depth + 1,
    children: [],
    expanded: false,
    terminal: child.end !== 'none',
    visits: 0,
    valueSum: 0,
  });
  draft.walk = { simulation, stepId: parent.stepId };
}

function closeExpansion(draft: Draft, { simulation, stepId }: SearchFact & { readonly kind: 'node-expanded' }): void {
  const node = searchNode(draft, stepId);
  if (node.expanded || node.terminal) throw new RangeError(`node ${stepId} was expanded twice`);
  const stuck = node.children.length === 0;
  draft.nodes.set(stepId, stuck ? { ...node, expanded: true, end: 'stuck', terminal: true } : { ...node, expanded: true });
  draft.walk = { simulation, stepId };
}

/** From the leaf up: one visit, the value, and terminal when all children are; a childless node is terminal for good (§1.5). */
function backUp(draft: Draft, { leafStepId, value, path }: SearchFact & { readonly kind: 'backed-up' }): void {
  if (path[0] !== draft.rootStepId || path.at(-1) !== leafStepId) throw new RangeError(`no path from the root to ${leafStepId}`);
  for (const [up, stepId] of [...path.entries()].reverse()) {
    const node = searchNode(draft, stepId);
    if (node.parentStepId !== (path[up - 1] ?? null)) throw new RangeError(`${stepId} does not hang where the path says`);
    const terminal = childrenOf(draft, node).every((child) => child.terminal);
    draft.nodes.set(stepId, { ...node, visits: node.visits + 1, valueSum: node.valueSum + value, terminal });
  }
}
