import { groupBy } from '../group-by.ts';
import { growTree, type Tree, type TreeNode, type TreeStep, walkDown } from './grow-tree.ts';
import { indexRewards, type RewardIndex, type TreeReward, type TreeRollout } from './trajectory.ts';

/** What the digest reads of a step: what was said, what happened; not when, by which process or under which id. */
export interface DigestedStep extends TreeStep {
  readonly response: string;
  readonly thought: string;
  readonly action: string;
  readonly observation: string;
  readonly wellFormatted: boolean;
  readonly executable: boolean;
  readonly termination: string;
  readonly stateHash: string | null;
}

export interface DigestedRollout extends TreeRollout {
  readonly outcome: string | null;
  readonly success: boolean | null;
}

export interface DigestedTree {
  readonly environment: string;
  readonly serverFingerprint: string;
  readonly alias: string;
  readonly goal: string;
  readonly instruction: string;
  readonly steps: readonly DigestedStep[];
  readonly rollouts: readonly DigestedRollout[];
  readonly rewards: readonly TreeReward[];
}

/**
 * Digests what happened in a tree: its task, structure, texts, terminations, rewards by component, outcomes. Ids, run, times,
 * ordinals, log offsets and the order in which siblings arrived do not count, so the same seeded run over another log returns the
 * same digest.
 *
 * A Merkle tree: each node's text names the digests of its children, sorted. That is linear in the tree's text, needs no
 * recursion into quoted text, and two trees that differ can be compared from the root down.
 * @param sha256 hex digest of the UTF-8 form of a text: hashing is an effect of the machine and stays outside the domain.
 */
export function treeDigest(recorded: DigestedTree, sha256: (text: string) => string): string {
  const tree = growTree(recorded.steps);
  const digests = nodeDigests(tree, recorded, sha256);
  const task = [recorded.environment, recorded.serverFingerprint, recorded.alias, recorded.goal, recorded.instruction];
  return sha256(JSON.stringify(['espalier-tree/1', task, digests.get(tree.root.step.stepId)]));
}

/** Returns the digest of every subtree by the id of its top step. */
export function nodeDigests(
  tree: Tree<DigestedStep>,
  { rollouts, rewards }: Pick<DigestedTree, 'rollouts' | 'rewards'>,
  sha256: (text: string) => string,
): ReadonlyMap<string, string> {
  const index = indexRewards(rewards);
  const depths = new Map<string, number>();
  const order = [...walkDown(tree.root)];
  for (const { step, parent } of order) depths.set(step.stepId, parent ? (depths.get(parent.step.stepId) ?? 0) + 1 : 0);
  const walks = walksByPlace(rollouts, depths, index);
  const digests = new Map<string, string>();
  // Parents come before children in `order`; backwards, every child is ready before its parent.
  for (const node of order.reverse()) {
    digests.set(node.step.stepId, sha256(textOfNode(node, index, walks.get(node.step.stepId) ?? [], digests)));
  }
  return digests;
}

function textOfNode(
  { step, children }: TreeNode<DigestedStep>,
  { ofStep }: RewardIndex,
  walks: readonly string[],
  digests: ReadonlyMap<string, string>,
): string {
  return JSON.stringify([
    [step.response, step.thought, step.action, step.observation],
    [step.wellFormatted, step.executable, step.termination, step.stateHash],
    scalars(ofStep.get(step.stepId) ?? []),
    [...walks].sort(),
    children.map((child) => digests.get(child.step.stepId)).sort(),
  ]);
}

/**
 * Writes each rollout at the step it ended on (or, under way, the one it began at): the level it began on, how it ended, its own
 * rewards.
 */
function walksByPlace(
  rollouts: readonly DigestedRollout[],
  depths: ReadonlyMap<string, number>,
  { ofRollout }: RewardIndex,
): ReadonlyMap<string, readonly string[]> {
  return groupBy(
    rollouts,
    ({ fromStepId, leafStepId }) => leafStepId ?? fromStepId,
    ({ rolloutId, fromStepId, outcome, success }) =>
      JSON.stringify([depths.get(fromStepId) ?? null, outcome, success, scalars(ofRollout.get(rolloutId) ?? [])]),
  );
}

function scalars(rewards: readonly TreeReward[]): readonly string[] {
  return rewards.map(({ component, value }) => JSON.stringify([component, value])).sort();
}
