import { z } from 'zod';
import type { ChatMessage } from '../../domain/history/prompt.ts';
import { EXPLORATION, type Tie } from '../../domain/search/best-child.ts';
import { chooseCandidates, gradeOutcome } from '../../domain/search/expansion.ts';
import { nextSearchStep, type SearchParams, type SearchStep } from '../../domain/search/next-search-step.ts';
import { cleanPublishedObservation, readPublishedReply } from '../../domain/search/published-prompt.ts';
import { type PublishedNode, publishedTree, type SearchedTree } from '../../domain/search/published-tree.ts';
import { applySearchFacts, type SearchFact } from '../../domain/search/search-facts.ts';
import { type SearchState, searchNode, startSearch } from '../../domain/search/search-tree.ts';
import { growTree } from '../../domain/tree/grow-tree.ts';
import { type JudgedCase, judgeEqual, type VectorCheck } from '../vector-check.ts';
import { publishedNode } from './revision-rows.ts';

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

/** The scripted model and environment of the vectors (`envRule` of the file). */
export interface Script {
  readonly params: Omit<SearchParams, 'tieBreak'>;
  /** Replies by depth, `*` for every other depth; the k-th call at a depth takes the k-th, round and round. */
  readonly replies: Readonly<Record<string, readonly string[]>>;
  readonly target: readonly string[];
  readonly rewards: Readonly<Record<string, number>>;
  /** Turns the action that was read into one that the environment knows. */
  readonly snap: (action: string) => string;
}

/**
 * What a scripted search did. Each sample of the published program costs one call, and one environment step per action from the
 * root.
 */
interface ScriptedRun extends SearchedTree {
  readonly ties: readonly { readonly pool: readonly string[]; readonly pick: number }[];
  readonly calls: number;
  readonly steps: number;
}

/**
 * Drives a search to its end as the published program does, every decision by `nextSearchStep`, all state by `applySearchFacts`.
 * @param picks the positions that are drawn, one per tie, in order. @throws RangeError when a tie is met that `picks` does not
 * hold.
 */
function runScriptedSearch(script: Script, picks: readonly number[]): ScriptedRun {
  const texts = new Map<string, Texts>();
  const asked = new Map<string, number>();
  const ties: { pool: string[]; pick: number }[] = [];
  let state = startSearch('0');
  let calls = 0;
  let steps = 0;

  const draw = ({ parentStepId, pool }: Tie): number => {
    const pick = picks[ties.length];
    if (pick === undefined) throw new RangeError(`tie ${ties.length + 1} at ${parentStepId} is not in the file`);
    const children = searchNode(state, parentStepId).children;
    ties.push({ pool: pool.map((i) => texts.get(children[i] ?? '')?.action ?? ''), pick });
    return pick;
  };
  const params: SearchParams = { ...script.params, tieBreak: { kind: 'drawn', draw } };

  const expand = (step: SearchStep & { readonly kind: 'expand' }): SearchFact[] => {
    const past = step.path.slice(1).map((stepId) => texts.get(stepId)?.action ?? '');
    const candidates = Array.from({ length: step.candidates }, (_, ordinal) => {
      const { reply, next } = replyAt(script, past.length, asked.get(String(past.length)) ?? 0);
      asked.set(String(past.length), next);
      calls++;
      steps += past.length + 1;
      const { response, action } = readPublishedReply(reply, 'other');
      return { ordinal, response, action: script.snap(action) };
    });
    const children = chooseCandidates(candidates).kept.map(({ candidate }): SearchFact => {
      const stepId = `${step.stepId}.${candidate.ordinal}`;
      const actions = [...past, candidate.action];
      const { observation, ...outcome } = actInScript(script, actions);
      texts.set(stepId, { ...candidate, observation: cleanPublishedObservation(observation) });
      const graded = gradeOutcome(outcome, past.length, params.maxDepth);
      const { ordinal } = candidate;
      return {
        kind: 'child-added',
        simulation: step.simulation,
        stepId,
        parentStepId: step.stepId,
        ordinal,
        equivalentTo: null,
        ...graded,
      };
    });
    return [...children, { kind: 'node-expanded', simulation: step.simulation, stepId: step.stepId }];
  };

  for (let step = nextSearchStep(state, params); step.kind !== 'finished'; step = nextSearchStep(state, params)) {
    const facts: SearchFact[] = step.kind === 'expand' ? expand(step) : [{ ...step, kind: 'backed-up' }];
    state = applySearchFacts(state, facts);
  }
  return { opening: OPENING, tree: growTree(searchedRows(state, texts)), ties, calls, steps };
}

interface Texts {
  readonly response: string;
  readonly action: string;
  readonly observation: string;
}

const OPENING: readonly ChatMessage[] = [
  { role: 'system', content: 'SYS' },
  { role: 'user', content: 'INSTRUCTION' },
  { role: 'assistant', content: 'Ok.' },
  { role: 'user', content: 'start' },
];

function replyAt({ replies }: Script, depth: number, call: number): { readonly reply: string; readonly next: number } {
  const choice = replies[depth] ?? replies['*'] ?? [];
  const reply = choice[call % choice.length];
  if (reply === undefined) throw new RangeError(`the script has no reply at depth ${depth}`);
  return { reply, next: call + 1 };
}

function actInScript({ target, rewards }: Script, actions: readonly string[]) {
  const observation = `seen ${actions.join('/')}\n\ttab`;
  const last = actions.at(-1) ?? '';
  if (last === 'boom') return { observation, score: -100, terminated: true, truncated: false };
  const tail = actions.slice(-target.length);
  const won = tail.length === target.length && tail.every((action, i) => action === target[i]);
  return { observation, score: won ? 1 : (rewards[last] ?? 0), terminated: won, truncated: false };
}

/** Joins what a search counted with the texts of its steps, children in their order. */
function searchedRows(state: SearchState, texts: ReadonlyMap<string, Texts>) {
  return [...state.nodes.values()].map((node) => ({
    ...(texts.get(node.stepId) ?? { response: '', action: '', observation: '' }),
    stepId: node.stepId,
    parentStepId: node.parentStepId,
    score: node.score,
    disaster: node.end === 'disaster',
    terminal: node.terminal,
    visits: node.visits,
    valueSum: node.valueSum,
  }));
}
