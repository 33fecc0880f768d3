import type { Draft } from '../append/appender.ts';
import { seedFrom } from '../domain/random/seed-from.ts';
import type { Environment, StepResult } from '../environments/environment.ts';
import { derivedId } from '../events/derived-id.ts';
import { type Act, type ActRequest, PolicyError } from '../policies/policy.ts';
import type { GrowingTree } from './collect-tree.ts';
import {
  finished,
  type Outcome,
  outcomeOf,
  rewards,
  started,
  stepData,
  stepEvent,
  type TreeNode,
  type Walk,
} from './rollout-events.ts';

/**
 * Walks one rollout from a node to its end. The environment is brought to the node by reset and replay of the recorded actions, and every
 * observation is compared with the recorded one; a difference is an event, and ends the rollout as failed. A rollout that the record holds
 * in part goes on behind its last step. Each step is durable before the next action is chosen.
 */
export async function walkRollout(tree: GrowingTree, ordinal: number, fromStepId: string): Promise<void> {
  const recorded = tree.tree?.rollouts.get(ordinal);
  const rolloutId = derivedId('rollout', tree.treeId, ordinal);
  const taken = [...(tree.tree?.steps.values() ?? [])].filter((step) => step.rolloutId === rolloutId);
  for (const _ of taken) tree.onStep();
  if (recorded?.outcome) return tree.onRollout(recorded.success === true);
  if (tree.signal.aborted) return;
  const walk: Walk = {
    tree,
    ordinal,
    rolloutId,
    fromStepId,
    seed: seedFrom('rollout', tree.seed, tree.task.alias, tree.treeIndex, ordinal),
  };

  const environment = await tree.kind.create();
  try {
    if (!recorded) await append(walk, [started(walk)]);
    const path = pathTo(tree, taken.at(-1)?.stepId ?? fromStepId);
    const replayed = await replay(walk, environment, path);
    if (replayed.kind === 'diverged')
      return await finish(walk, path.at(-1), 'failed', null, 'the environment did not repeat what was recorded');
    if (taken.length > 0 && replayed.last && (replayed.last.terminated || isLast(walk, taken.length))) {
      // The last step is in the record, its reward or the end of the rollout is not: a kill fell between them.
      const leaf = path.at(-1);
      if (leaf && !tree.tree?.rewarded.has(leaf.stepId)) await append(walk, rewards(walk, leaf.stepId, replayed.last, true));
      return await finish(walk, leaf, outcomeOf(replayed.last), replayed.last.success ?? false, '');
    }
    await goOn(walk, environment, path, taken.length);
  } finally {
    await environment.close();
  }
}

async function goOn(walk: Walk, environment: Environment, path: TreeNode[], already: number): Promise<void> {
  const { tree } = walk;
  for (let steps = already; ; steps++) {
    if (tree.signal.aborted) return;
    const at = path.at(-1);
    if (!at) throw new RangeError('a path begins with the root');
    const began = tree.clock();
    const chosen = await choose(walk, environment, path);
    if (chosen.kind === 'failed') return finish(walk, at, 'failed', null, chosen.reason);
    const decided = tree.clock();
    const parsed = environment.parse(chosen.act.response);
    const result = await environment.step(parsed.action);
    const done = result.terminated || result.truncated || isLast(walk, steps + 1);
    const timings = { policyMs: Math.max(0, decided - began), environmentMs: Math.max(0, tree.clock() - decided) };
    const step = stepData(walk, at, chosen.act, parsed, result, timings, done);
    const drafts = [stepEvent(walk, step), ...rewards(walk, step.stepId, result, done)];
    const node = {
      stepId: step.stepId,
      parentStepId: at.stepId,
      depth: step.depth,
      response: chosen.act.response,
      action: parsed.action,
      observation: result.observation,
      admissibleActions: result.admissibleActions,
      ended: done,
    };
    if (done) drafts.push(finished(walk, node, outcomeOf(result), result.success ?? false, ''));
    await append(walk, drafts);
    tree.nodes.set(node.stepId, node);
    path.push(node);
    tree.onStep();
    if (done) return tree.onRollout(result.success === true);
  }
}

/** Asks the policy. What it cannot answer here fails this rollout alone; what it can answer nowhere is thrown and ends the run. */
async function choose(
  walk: Walk,
  environment: Environment,
  path: readonly TreeNode[],
): Promise<{ kind: 'act'; act: Act } | { kind: 'failed'; reason: string }> {
  const { tree, seed } = walk;
  const { opening } = tree;
  const at = path.at(-1);
  const request: ActRequest = {
    goal: opening.goal,
    instruction: opening.instruction,
    firstObservation: opening.observation,
    history: path.slice(1).map(({ response, action, observation }) => ({ response, action, observation })),
    admissibleActions: at?.admissibleActions ?? null,
    expertAction: async () => (await environment.expertAction?.()) ?? null,
    seed: seedFrom('step', seed, path.length),
    n: 1,
    temperature: tree.plan.temperature,
  };
  try {
    const [act] = await tree.policy.act(request, tree.signal);
    return act ? { kind: 'act', act } : { kind: 'failed', reason: 'the policy gave no act' };
  } catch (error) {
    if (error instanceof PolicyError && error.code !== 'unreachable' && error.code !== 'refused')
      return { kind: 'failed', reason: error.message.slice(0, 9_000) };
    throw error;
  }
}

type Replayed = { readonly kind: 'same'; readonly last: StepResult | undefined } | { readonly kind: 'diverged' };

async function replay(walk: Walk, environment: Environment, path: readonly TreeNode[]): Promise<Replayed> {
  const { tree } = walk;
  await environment.reset({ alias: tree.task.alias, seed: tree.plan.taskSeed });
  let last: StepResult | undefined;
  for (const node of path.slice(1)) {
    last = await environment.step(node.action);
    if (sameText(last.observation, node.observation)) continue;
    const data = {
      treeId: tree.treeId,
      stepId: node.stepId,
      field: 'observation' as const,
      recorded: node.observation,
      replayed: last.observation,
    };
    await append(walk, [
      { type: 'ReplayDiverged', id: derivedId('ReplayDiverged', walk.rolloutId, node.stepId), correlationId: tree.runId, data },
    ]);
    return { kind: 'diverged' };
  }
  return { kind: 'same', last };
}

/** Compares as stored: what cannot be stored was replaced on append. */
function sameText(a: string, b: string): boolean {
  return a === b || a.toWellFormed().replaceAll('\0', '\uFFFD') === b;
}

function pathTo(tree: GrowingTree, stepId: string): TreeNode[] {
  const path: TreeNode[] = [];
  for (let id: string | null = stepId; id !== null; ) {
    const node = tree.nodes.get(id);
    if (!node) throw new RangeError(`tree ${tree.treeId} has no step ${id}`);
    path.push(node);
    id = node.parentStepId;
  }
  return path.reverse();
}

function isLast({ tree }: Walk, steps: number): boolean {
  return steps >= tree.plan.maxSteps;
}

async function append({ tree }: Walk, drafts: readonly Draft[]): Promise<void> {
  if (drafts.length > 0) await tree.appender.append(drafts);
}

async function finish(
  walk: Walk,
  leaf: TreeNode | undefined,
  outcome: Outcome,
  success: boolean | null,
  reason: string,
): Promise<void> {
  if (!leaf) throw new RangeError('a path begins with the root');
  await append(walk, [finished(walk, leaf, outcome, success, reason)]);
  walk.tree.onRollout(success === true);
}
