import { bestChild, EXPLORATION, type TieBreak } from './best-child.ts';
import { childrenOf, type SearchNode, type SearchState, searchNode, searchPath } from './search-tree.ts';

export interface SearchParams {
  /** Complete walks from the root to an end. A walk expands every node on its way. */
  readonly iterations: number;
  /** Replies asked for at each node. */
  readonly candidates: number;
  /** A path has at most this many actions and one more (§1.5). */
  readonly maxDepth: number;
  readonly exploration: number;
  /**
   * What UCT multiplies values by, 1 when not given: the published search explores as little of SciWorld as its 0..100 make it
   * (§1.4).
   */
  readonly valueScale?: number;
  readonly tieBreak: TieBreak;
}

/**
 * The parameters of the paper (specification of Agent-R, §9); ties go to the earlier child, so that the search needs no chance of
 * its own.
 */
export const SEARCH_DEFAULTS: SearchParams = {
  iterations: 8,
  candidates: 4,
  maxDepth: 20,
  exploration: EXPLORATION,
  tieBreak: { kind: 'first' },
};

/** What a search does next. Paths are step ids, root first; simulations count from 0. */
export type SearchStep =
  | {
      readonly kind: 'expand';
      readonly simulation: number;
      readonly stepId: string;
      readonly path: readonly string[];
      readonly candidates: number;
      /** Children that are there already, because an earlier process ended in the middle of this expansion. */
      readonly present: readonly SearchNode[];
    }
  | {
      readonly kind: 'backup';
      readonly simulation: number;
      readonly leafStepId: string;
      readonly value: number;
      readonly path: readonly string[];
    }
  | { readonly kind: 'finished'; readonly reason: 'iterations' | 'exhausted'; readonly simulations: number };

/**
 * Decides the next step of a search from what is known of it (specification of Agent-R, §1.5). It is a pure function: carry out
 * the step, apply its facts (`applySearchFacts`), ask again; a search that was killed anywhere goes on from its facts as if
 * nothing had been.
 *
 * A walk expands the node it has reached; every new child that ended is backed up, in order; then the walk goes down by
 * `bestChild` to a node without children and expands that. It ends where nothing is left to explore; the next one begins at the
 * root. The search is finished after `iterations` walks (`iterations`), or before when the root is terminal (`exhausted`).
 */
export function nextSearchStep(state: SearchState, params: SearchParams): SearchStep {
  let { simulation } = state.walk;
  let node = searchNode(state, state.walk.stepId);
  const leaf = nextToBackUp(state, node);
  if (leaf)
    return { kind: 'backup', simulation, leafStepId: leaf.stepId, value: leaf.score, path: searchPath(state, leaf.stepId) };

  while (simulation < params.iterations) {
    const stop = descend(state, node, simulation, params);
    if (stop) return expansionOf(state, stop, simulation, params);
    simulation++;
    node = searchNode(state, state.rootStepId);
    if (node.terminal && simulation < params.iterations)
      return { kind: 'finished', reason: 'exhausted', simulations: simulation };
  }
  return { kind: 'finished', reason: 'iterations', simulations: simulation };
}

/** What ended at an expanded node and was not yet counted: its children in their order, or the node itself when it has none. */
function nextToBackUp(state: SearchState, node: SearchNode): SearchNode | undefined {
  if (!node.expanded) return undefined;
  const ended = node.children.length === 0 ? [node] : childrenOf(state, node).filter(({ end }) => end !== 'none');
  return ended.find(({ visits }) => visits === 0);
}

/** Walks down to the node to expand; null when the walk is over. */
function descend(state: SearchState, from: SearchNode, simulation: number, params: SearchParams): SearchNode | null {
  let node = from;
  while (!node.terminal) {
    if (!node.expanded) return node;
    const children = childrenOf(state, node);
    const chosen = children[bestChild(node, children, { ...params, simulation }) ?? -1];
    if (!chosen) return null;
    node = chosen;
  }
  return null;
}

function expansionOf(state: SearchState, node: SearchNode, simulation: number, { candidates }: SearchParams): SearchStep {
  const { stepId } = node;
  return { kind: 'expand', simulation, stepId, path: searchPath(state, stepId), candidates, present: childrenOf(state, node) };
}
