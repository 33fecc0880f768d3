import type { Draft } from '../../append/appender.ts';
import type { Environment, StepResult } from '../../environments/environment.ts';
import { observationText, sameObservation, shownText } from '../../environments/same-observation.ts';
import { picturesOf } from '../../environments/with-pictures.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { GrowingTree, PolicyStep, Prefix, PrefixStep, TreeNode } from './growing-tree.ts';
import { restoreEnvironment, statesOf } from './restore-environment.ts';
import { rewardDrafts, stepData, stepDraft, toolDrafts, treeClosedDraft } from './rollout-events.ts';

/**
 * The environment did not answer the recorded actions as it did: there is nothing to go on behind. The difference is on record,
 * and the tree is closed.
 */
export class PrefixDiverged extends Error {
  override readonly name = 'PrefixDiverged';
}

/**
 * Takes the actions that a planned task begins behind, and returns the step at which its rollouts start; the root where it has
 * none. The steps belong to no rollout of this tree, and name the policy that took them first. What was executed is executed
 * again, not read out of the reply: the run that took it may have read replies by another template. What the record holds of them
 * is not taken again but replayed, every observation compared. @throws RangeError when there are fewer; PrefixDiverged, the tree
 * closed as failed.
 */
export async function playPrefix(tree: GrowingTree, given: Prefix | undefined): Promise<string> {
  const { task, nodes, rootStepId, treeId } = tree;
  if (!task.behind) return rootStepId;
  const { steps } = task.behind;
  const prefix: Prefix = given ?? { observation: null, stateHash: null, steps: [] };
  if (prefix.steps.length !== steps)
    throw new RangeError(
      `${'stepId' in task.behind ? `the path to step ${task.behind.stepId}` : `rollout ${task.behind.rolloutId}`} has ${prefix.steps.length} steps on record, not the ${steps} that the plan goes on behind`,
    );
  const root = nodes.get(rootStepId);
  if (!root) throw new RangeError(`tree ${treeId} has no root`);
  const { observation, pictures } = prefix;
  if (observation !== null && !sameObservation(root, { observation, pictures }))
    await diverge(tree, [], rootStepId, {
      field: 'observation',
      recorded: observationText({ observation, pictures }),
      replayed: observationText(root),
      ...statesOf(prefix.stateHash, tree.opening.stateHash),
    });
  const elsewhere = otherState(prefix.stateHash, tree.opening.stateHash);
  if (elsewhere) await diverge(tree, [], rootStepId, elsewhere);
  const path = await recordedPath(tree, root, prefix);
  const last = path.at(-1) ?? root;
  if (path.length > steps) return last.stepId;
  const environment = await tree.kind.create();
  try {
    const restored = await restoreEnvironment(tree, environment, path, treeId);
    if (restored.kind === 'diverged') await end(tree, [], last.stepId, 'observation');
    let at = last;
    for (const step of prefix.steps.slice(path.length - 1)) {
      at = await takeAgain(tree, environment, at, step);
      nodes.set(at.stepId, at);
    }
    return at.stepId;
  } finally {
    await environment.close();
  }
}

/** Returns what the record of this tree holds of the way. */
async function recordedPath(tree: GrowingTree, root: TreeNode, prefix: Prefix): Promise<TreeNode[]> {
  const path = [root];
  for (const { taken } of prefix.steps) {
    const node = tree.nodes.get(stepIdOf(tree.treeId, path.length));
    if (!node) break;
    if (!sameObservation(node, taken)) {
      const difference = { recorded: observationText(taken), replayed: observationText(node) };
      await diverge(tree, [], node.stepId, { field: 'observation', ...difference });
    }
    path.push(node);
  }
  return path;
}

async function takeAgain(tree: GrowingTree, environment: Environment, at: TreeNode, step: PolicyStep): Promise<TreeNode> {
  const { response, policy, taken } = step;
  const began = tree.clock();
  const result = await environment.step(taken.action, tree.signal);
  // nothing can follow: the record ended there too, or it shows the difference
  const done = result.terminated || result.truncated;
  const difference = differenceOf(taken, result) ?? otherState(taken.stateHash, result.stateHash);
  const stepId = stepIdOf(tree.treeId, at.depth + 1);
  const act = { response, tokens: null, usage: null, finishReason: null };
  const timings = { policyMs: 0, environmentMs: Math.max(0, tree.clock() - began) };
  const own = { ...tree, policy: { ...tree.policy, ref: policy } };
  const data = stepData({ tree: own, stepId, rolloutId: null, at, act, parsed: taken, result, timings, done });
  const drafts = [
    stepDraft(tree, data),
    ...toolDrafts(tree, stepId, result),
    ...rewardDrafts({ tree, rolloutId: null }, stepId, result, done),
  ];
  if (difference) await diverge(tree, drafts, stepId, { ...difference, ...statesOf(taken.stateHash, result.stateHash) });
  if (done) await end(tree, drafts, stepId, 'termination');
  await tree.appender.append(drafts);
  tree.onStep();
  const { observation, admissibleActions, stateHash } = result;
  return {
    stepId,
    parentStepId: at.stepId,
    depth: at.depth + 1,
    response,
    action: result.executed ?? taken.action,
    pictures: picturesOf(result),
    observation,
    admissibleActions,
    stateHash,
    ended: false,
    policyVersion: policy.version,
    prompt: null,
  };
}

type Difference = Omit<DataOf<'ReplayDiverged'>, 'treeId' | 'stepId'>;

function differenceOf(step: PrefixStep, result: StepResult): Difference | null {
  if (!sameObservation(result, step))
    return { field: 'observation', recorded: observationText(step), replayed: shownText(result) };
  const reward = result.reward.gain ?? result.reward.value;
  if (reward !== step.reward) return { field: 'reward', recorded: String(step.reward), replayed: String(reward) };
  const end = result.terminated ? 'terminated' : result.truncated ? 'truncated' : 'none';
  // A step that a limit of its plan cut is truncated on record, whatever the environment would have said next.
  const same = end === step.termination || (step.termination === 'truncated' && end === 'none');
  return same ? null : { field: 'termination', recorded: step.termination, replayed: end };
}

/**
 * Returns the difference of two hashes that are those of other states: another world behind the same words, in which nothing
 * follows from what was recorded.
 */
function otherState(recorded: string | null, replayed: string | null): Difference | null {
  if (recorded === null || replayed === null || recorded === replayed) return null;
  return { field: 'stateHash', recorded, replayed, ...statesOf(recorded, replayed) };
}

/** Puts a difference on record together with the step that showed it, and closes the tree. */
async function diverge(tree: GrowingTree, drafts: readonly Draft[], stepId: string, difference: Difference): Promise<never> {
  const { treeId, runId } = tree;
  const reported: Draft = {
    type: 'ReplayDiverged',
    id: derivedId('ReplayDiverged', treeId, stepId),
    correlationId: runId,
    data: { treeId, stepId, ...difference },
  };
  return end(tree, [...drafts, reported], stepId, difference.field);
}

async function end(tree: GrowingTree, drafts: readonly Draft[], stepId: string, what: string): Promise<never> {
  await tree.appender.append([...drafts, treeClosedDraft(tree, 'failed', 0)]);
  throw new PrefixDiverged(`step ${stepId} of tree ${tree.treeId} shows another ${what} than the step it repeats`);
}

function stepIdOf(treeId: string, depth: number): string {
  return derivedId('step', treeId, 'prefix', depth);
}
