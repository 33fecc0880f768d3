import type { ChatMessage } from '../history/prompt.ts';
import { growTree, type Tree, type TreeNode } from '../tree/grow-tree.ts';
import { EXPLORATION, uctScore } from './best-child.ts';
import type { SearchedStep } from './search-tree.ts';

/** A node as Agent-R's `search_results_<idx>.json` holds it (specification, §1.7). A part of what it repeats is derived. */
export interface PublishedNode {
  readonly visits: number;
  readonly value: number;
  readonly prior: number;
  readonly puct_value: number;
  readonly obs: string;
  readonly llm_response: string;
  readonly depth: number;
  readonly is_terminal: boolean;
  /** Pairs of action and observation; texts `(action, observation)` in SciWorld. */
  readonly recent_actions: readonly (string | readonly [action: string, observation: string])[];
  readonly action: string;
  readonly env_score: number;
  readonly disaster: boolean;
  readonly state: readonly ChatMessage[];
  readonly children: readonly PublishedNode[];
}

/** What reading a tree takes of a node; the other fields repeat it. */
export interface ReadableNode
  extends Pick<PublishedNode, 'visits' | 'value' | 'obs' | 'llm_response' | 'is_terminal' | 'action' | 'env_score' | 'disaster'> {
  readonly children: readonly ReadableNode[];
}
/** The root: its `state` is what opened the conversation. */
export type ReadableRoot = ReadableNode & Pick<PublishedNode, 'state'>;

/** A tree without what the published file repeats at every node: the messages before the first reply, and the steps. */
export interface SearchedTree {
  readonly opening: readonly ChatMessage[];
  readonly tree: Tree<SearchedStep>;
}

/**
 * Reads a published tree. Step ids are positions, `0` for the root and `0.2.1` for the second child of its third: the file has
 * none. Texts come from `llm_response`, `action` and `obs`; each node's copy of the whole conversation (42 times the distinct
 * text, §6 item 6) is dropped.
 */
export function readPublishedTree(root: ReadableRoot): SearchedTree {
  const rows: SearchedStep[] = [];
  const waiting: { node: ReadableNode; stepId: string; parentStepId: string | null }[] = [
    { node: root, stepId: '0', parentStepId: null },
  ];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { node, stepId } = next;
    rows.push(rowOf(node, stepId, next.parentStepId));
    const below = node.children.map((child, i) => ({ node: child, stepId: `${stepId}.${i}`, parentStepId: stepId }));
    for (const each of below.reverse()) waiting.push(each);
  }
  return { opening: root.state, tree: growTree(rows) };
}

/**
 * Writes a tree as the published program would (§1.7), its quadratic conversations included.
 * @param history how `recent_actions` is written: as pairs, or as SciWorld's texts.
 */
export function publishedTree(
  { opening, tree }: SearchedTree,
  history: 'pairs' | 'texts' = 'pairs',
  exploration = EXPLORATION,
): PublishedNode {
  const write = (
    node: TreeNode<SearchedStep>,
    state: readonly ChatMessage[],
    past: PublishedNode['recent_actions'],
  ): PublishedNode => {
    const { step, parent } = node;
    return {
      visits: step.visits,
      value: step.valueSum,
      prior: 1,
      puct_value: uctScore(step, parent?.step.visits ?? null, exploration),
      obs: step.observation,
      llm_response: parent ? step.response : 'ROOT',
      depth: (state.length - opening.length) / 2,
      is_terminal: step.terminal,
      recent_actions: past,
      action: parent ? step.action : 'ROOT',
      env_score: step.score,
      disaster: step.disaster,
      state,
      children: node.children.map((child) => {
        const { response, action, observation } = child.step;
        const turn: ChatMessage[] = [
          { role: 'assistant', content: response },
          { role: 'user', content: observation },
        ];
        const entry = history === 'pairs' ? ([action, observation] as const) : `(${action}, ${observation})`;
        return write(child, [...state, ...turn], [...past, entry]);
      }),
    };
  };
  return write(tree.root, opening, []);
}

function rowOf(node: ReadableNode, stepId: string, parentStepId: string | null): SearchedStep {
  const isRoot = parentStepId === null;
  return {
    stepId,
    parentStepId,
    response: isRoot ? '' : node.llm_response,
    action: isRoot ? '' : node.action,
    observation: node.obs,
    score: node.env_score,
    disaster: node.disaster,
    terminal: node.is_terminal,
    visits: node.visits,
    valueSum: node.value,
  };
}
