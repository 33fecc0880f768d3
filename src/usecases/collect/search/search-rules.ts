import { createRandom } from '../../../domain/random/random.ts';
import { seedFrom } from '../../../domain/random/seed-from.ts';
import type { Tie, TieBreak } from '../../../domain/search/best-child.ts';
import { publishedPrompt, readPublishedReply } from '../../../domain/search/published-prompt.ts';
import { type SearchState, searchNode } from '../../../domain/search/search-tree.ts';
import type { StepResult } from '../../../environments/environment.ts';
import type { PrescribedPrompt } from '../ask-policy.ts';
import type { GrowingTree, TreeNode } from '../growing-tree.ts';
import type { SearchPlan } from '../plan.ts';
import { publishedEnvironment, replyStyleOf } from '../published-environment.ts';

/** Where Agent-R's search goes another way than ours. */
export interface SearchRules {
  /** The tree in the environment as these rules see it. */
  readonly tree: GrowingTree;
  /** @param state returns the search as it is when a tie is met. */
  tieBreak(state: () => SearchState): TieBreak;
  /** What is recorded of a reply, and what makes two replies of a node the same. */
  read(reply: string): { readonly said: string; readonly key: string };
  /** The prompt at the end of a path, where the rules prescribe one; null leaves it to the policy. */
  promptAt(path: readonly TreeNode[]): PrescribedPrompt | null;
  /** What an episode is worth after a step, normalised; below 0 for a disaster. */
  scoreAfter(before: number, result: StepResult): number;
}

/** Chooses the rules that a plan names. */
export function searchRules(tree: GrowingTree, plan: SearchPlan): SearchRules {
  return plan.compat ? publishedRules(tree, plan.compat) : ownRules(tree);
}

function ownRules(tree: GrowingTree): SearchRules {
  return {
    tree,
    tieBreak: () => ({ kind: 'first' }),
    read: (reply) => ({ said: reply, key: reply }),
    promptAt: () => null,
    scoreAfter: (before, { reward }) => {
      if (reward.fatal) return -1;
      return reward.kind === 'delta' ? before + reward.value : reward.value;
    },
  };
}

/**
 * The rules of the published program (specification of Agent-R, §1.4–1.6). What it left to chance is drawn from the run's seed
 * and the place in the tree, so that a killed search draws the same again; its tokenizer, which is the model's, is estimated.
 */
function publishedRules(tree: GrowingTree, { maxTokenLength }: NonNullable<SearchPlan['compat']>): SearchRules {
  const style = replyStyleOf(tree.kind);
  return {
    tree: { ...tree, kind: publishedEnvironment(tree.kind) },
    tieBreak: (state) => ({ kind: 'drawn', draw: tree.overrides?.drawTie ?? ((tie) => drawSeeded(tree, state(), tie)) }),
    // Only WebShop's module stores another text at the node than in the conversation, and compares the former.
    read: (reply) => {
      const { turn, response } = readPublishedReply(reply, style);
      return { said: turn, key: response };
    },
    promptAt: ([root, ...path]) => {
      const { instruction, observation } = tree.opening;
      const opening = { instruction, observation, images: root?.pictures ?? [] };
      const turns = path.map((node) => ({ ...node, images: node.pictures ?? [] }));
      return publishedPrompt(opening, turns, maxTokenLength, tree.overrides?.countTokens);
    },
    // The last reward it is, whatever it means; a negative one ends the walk.
    scoreAfter: (_before, { reward }) => (reward.raw < 0 ? -1 : reward.value),
  };
}

function drawSeeded(tree: GrowingTree, state: SearchState, { simulation, parentStepId, pool }: Tie): number {
  const { seed, task, treeIndex } = tree;
  const place = ordinalsTo(state, parentStepId);
  return drawnTie({ seed, alias: task.alias, treeIndex, simulation, place, size: pool.length });
}

/** A tie of a search by the published rules: in which tree, on which walk, at which node, between how many children. */
export interface PlacedTie {
  readonly seed: number;
  readonly alias: string;
  readonly treeIndex: number;
  readonly simulation: number;
  /** The ordinals of the replies on the way to the node. */
  readonly place: readonly number[];
  readonly size: number;
}

/** Returns the position of the child that such a search goes to: a function of the tie, so that it is drawn again as it was. */
export function drawnTie({ seed, alias, treeIndex, simulation, place, size }: PlacedTie): number {
  return createRandom(seedFrom('tie', seed, alias, treeIndex, simulation, ...place)).int(size);
}

/** Returns the ordinals on the way to a node: its place, which does not depend on ids. */
export function ordinalsTo(state: SearchState, stepId: string): readonly number[] {
  const ordinals: number[] = [];
  for (let node = searchNode(state, stepId); node.parentStepId !== null; node = searchNode(state, node.parentStepId))
    ordinals.push(node.ordinal);
  return ordinals.reverse();
}
