import type { PolicyMessage } from '../prompts/policy-prompt.ts';
import type { TreeStep } from '../tree/grow-tree.ts';

/**
 * Why a walk cannot go on below a node; `none` while it can. `terminated` and `truncated`: the environment ended the episode;
 * `disaster`: it answered a negative reward; `depth`: the depth limit; `stuck`: an expansion gave no child, because the model
 * answered nothing usable or the state could not be restored.
 */
export type NodeEnd = 'none' | 'terminated' | 'truncated' | 'disaster' | 'depth' | 'stuck';

/** A node of a search. Its texts stand in the step of the same id; here is only what decides where the search goes. */
export interface SearchNode {
  readonly stepId: string;
  readonly parentStepId: string | null;
  /** Actions from the root. */
  readonly depth: number;
  /** Which of the candidates of its parent it was, from 0. */
  readonly ordinal: number;
  /** What a walk that ends here is worth, normalised: the environment's score so far, 0 after a disaster. */
  readonly score: number;
  readonly end: NodeEnd;
  /** An earlier sibling that does the same action after another thought; null when there is none. */
  readonly equivalentTo: string | null;
  readonly children: readonly string[];
  /** Whether all its candidates are known. A node with children that is not expanded was cut off in the middle of it. */
  readonly expanded: boolean;
  /** Nothing is left to explore from here: it ended, or all of its children are terminal. */
  readonly terminal: boolean;
  /** How many ended walks lie at or below it. */
  readonly visits: number;
  /** The sum of their scores. */
  readonly valueSum: number;
}

/** A search as far as it is known. Values of this kind never change; facts make new ones. */
export interface SearchState {
  readonly rootStepId: string;
  readonly nodes: ReadonlyMap<string, SearchNode>;
  /** The simulation under way, from 0, and the node where its walk was last seen. */
  readonly walk: { readonly simulation: number; readonly stepId: string };
}

/** Begins a search: a root that nobody has expanded. */
export function startSearch(rootStepId: string): SearchState {
  const root: SearchNode = {
    stepId: rootStepId,
    parentStepId: null,
    depth: 0,
    ordinal: 0,
    score: 0,
    end: 'none',
    equivalentTo: null,
    children: [],
    expanded: false,
    terminal: false,
    visits: 0,
    valueSum: 0,
  };
  return { rootStepId, nodes: new Map([[rootStepId, root]]), walk: { simulation: 0, stepId: rootStepId } };
}

/** Returns a node of a search. @throws RangeError that names it when the search has none of that id. */
export function searchNode({ nodes }: Pick<SearchState, 'nodes'>, stepId: string): SearchNode {
  const node = nodes.get(stepId);
  if (!node) throw new RangeError(`the search has no node ${stepId}`);
  return node;
}

/** Returns the children of a node, in the order in which they were added. */
export function childrenOf(state: Pick<SearchState, 'nodes'>, node: SearchNode): readonly SearchNode[] {
  return node.children.map((stepId) => searchNode(state, stepId));
}

/** Returns the step ids from the root to a node, both included. */
export function searchPath(state: Pick<SearchState, 'nodes'>, stepId: string): readonly string[] {
  const path: string[] = [];
  for (let id: string | null = stepId; id !== null; id = searchNode(state, id).parentStepId) path.push(id);
  return path.reverse();
}

/** A step of a searched tree: what was said and seen there, and what the search counted. The root's texts are empty. */
export interface SearchedStep extends TreeStep {
  readonly response: string;
  /** The reply as a message, where it is more than the text `response`. */
  readonly message?: PolicyMessage;
  readonly action: string;
  readonly observation: string;
  /** What the environment's score was, normalised; 0 after a disaster. */
  readonly score: number;
  readonly disaster: boolean;
  /** Nothing was left to explore from here. A terminal step without children is the end of a trajectory. */
  readonly terminal: boolean;
  readonly visits: number;
  readonly valueSum: number;
}
