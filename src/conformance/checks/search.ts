import { z } from 'zod';
import { type PublishedNode, publishedTree } from '../../domain/search/published-tree.ts';
import { EXPLORATION } from '../../domain/search/uct.ts';
import { type JudgedCase, judgeEqual, type VectorCheck } from '../vector-check.ts';
import { publishedNode } from './published-node.ts';
import { runScriptedSearch } from './scripted-search.ts';

interface ReportedNode {
  readonly uct: number;
  readonly children: readonly ReportedNode[];
  readonly [field: string]: unknown;
}
const reportedNode: z.ZodType<ReportedNode> = z.object({
  action: z.string(),
  llm: z.string(),
  obs: z.string(),
  depth: z.number(),
  visits: z.number(),
  value: z.number(),
  uct: z.number(),
  terminal: z.boolean(),
  envScore: z.number(),
  disaster: z.boolean(),
  recentActions: z.array(z.unknown()),
  stateLen: z.number(),
  get children() {
    return z.array(reportedNode);
  },
});
const searchCase = z.object({
  name: z.string(),
  module: z.string(),
  config: z.object({ maxDepth: z.int(), iterations: z.int(), nGen: z.int() }),
  script: z.record(z.string(), z.array(z.string())),
  target: z.array(z.string()),
  partialRewards: z.record(z.string(), z.number()),
  tieBreaks: z.array(z.object({ pool: z.array(z.string()), pick: z.int() })),
  llmCalls: z.int(),
  resets: z.int(),
  steps: z.int(),
  tree: reportedNode,
});
type SearchCase = z.infer<typeof searchCase>;
const shape = z.object({ cases: z.array(searchCase) });

/**
 * Judges `09_mcts_search`: whole searches, tie by tie and node by node, with what the published program would have spent on them.
 */
export const searchCheck: VectorCheck = {
  fileName: /^09_mcts_search.*\.json$/,
  *judge({ json }) {
    for (const each of shape.parse(json).cases) yield judgeSearch(each);
  },
};

/** Judges `09_tree_on_disk_example`: the first search of its sibling file, written as the published program writes a tree. */
export const treeOnDiskCheck: VectorCheck = {
  fileName: /^09_tree_on_disk_example.*\.json$/,
  async *judge({ json, readSibling }) {
    const [first] = shape.parse(await readSibling('09_mcts_search.json')).cases;
    if (!first) throw new Error('09_mcts_search.json holds no search');
    const written = publishedTree(searchOf(first), 'pairs');
    yield judgeEqual(first.name, rounded(written), rounded(publishedNode.parse(json)));
  },
};

function judgeSearch(each: SearchCase): JudgedCase {
  const search = searchOf(each);
  const sciworld = each.module.includes('sciworld');
  const actual = {
    tieBreaks: search.ties,
    llmCalls: search.calls,
    resets: 1 + search.calls * (sciworld ? 2 : 1),
    steps: search.steps,
    tree: roundedNodes(reportedNodeOf(publishedTree(search, sciworld ? 'texts' : 'pairs'))),
  };
  const { tieBreaks, llmCalls, resets, steps, tree } = each;
  return judgeEqual(each.name, actual, { tieBreaks, llmCalls, resets, steps, tree: roundedNodes(tree) });
}

function searchOf({ config, script, target, partialRewards, tieBreaks, module, tree }: SearchCase) {
  const params = { maxDepth: config.maxDepth, iterations: config.iterations, candidates: config.nGen, exploration: EXPLORATION };
  const known = new Set(actionsBelow(tree));
  // SciWorld's adapter snaps to actions that its server lists; the file lists none, so those of its tree stand in for them.
  const snap = module.includes('sciworld') ? (action: string) => closest(action, known) : (action: string) => action;
  return runScriptedSearch(
    { params, replies: script, target, rewards: partialRewards, snap },
    tieBreaks.map(({ pick }) => pick),
  );
}

function reportedNodeOf(node: PublishedNode): ReportedNode {
  return {
    action: node.action,
    llm: node.llm_response,
    obs: node.obs,
    depth: node.depth,
    visits: node.visits,
    value: node.value,
    uct: node.puct_value,
    terminal: node.is_terminal,
    envScore: node.env_score,
    disaster: node.disaster,
    recentActions: node.recent_actions,
    stateLen: node.state.length,
    children: node.children.map(reportedNodeOf),
  };
}

/** Logarithms may differ in the last bit between languages (§1.5): scores are compared to twelve digits. */
function roundedNodes(node: ReportedNode): ReportedNode {
  return { ...node, uct: twelve(node.uct), children: node.children.map(roundedNodes) };
}

function rounded(node: PublishedNode): PublishedNode {
  return { ...node, puct_value: twelve(node.puct_value), children: node.children.map(rounded) };
}

function twelve(score: number): number {
  return Number(score.toFixed(12));
}

function actionsBelow({ action, children }: ReportedNode): string[] {
  return [String(action), ...children.flatMap(actionsBelow)];
}

function closest(action: string, known: ReadonlySet<string>): string {
  if (known.has(action)) return action;
  const words = new Set(action.split(' '));
  const shared = (other: string) => other.split(' ').filter((word) => words.has(word)).length;
  return [...known].reduce((best, other) => (shared(other) > shared(best) ? other : best), action.length === 0 ? action : 'ROOT');
}
