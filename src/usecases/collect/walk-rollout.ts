import type { Draft } from '../../append/appender.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import { type Environment, EnvironmentError, type StepResult } from '../../environments/environment.ts';
import { picturesOf } from '../../environments/with-pictures.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Act } from '../../policies/policy.ts';
import { inSpan } from '../../runtime/tracing.ts';
import { askPolicy } from './ask-policy.ts';
import { type EnvironmentFault, withFault } from './environment-fault.ts';
import { compareWithOpening, wantsComparison } from './episodes.ts';
import type { GrowingTree, TreeNode } from './growing-tree.ts';
import { closingRewards } from './prompting/closing-rewards.ts';
import { historyDrafts, promptDrafts } from './prompting/history-drafts.ts';
import { drawingFor, readAnswer } from './prompting/prompter.ts';
import { pathTo, restoreEnvironment } from './restore-environment.ts';
import {
  outcomeOf,
  type RolloutOutcome,
  rewardDrafts,
  rolloutFinishedDraft,
  rolloutStartedDraft,
  stepData,
  stepDraft,
  toolDrafts,
  type Walk,
} from './rollout-events.ts';
import { repliesSampled } from './sampled-replies.ts';

/**
 * Walks one rollout from a node to its end. The environment is brought to the node by reset and replay of the recorded actions,
 * and every observation is compared with the recorded one; a difference is an event, and ends the rollout as failed. So does an
 * environment that raises an error, or whose process ends over a step. A rollout that the record holds in part goes on behind its
 * last step, as does one that is left open because a server behind the environment stays away. Each step is durable before the
 * next action is chosen. In a chat the reply is durable before a person is waited for, who may take long to answer it.
 */
export async function walkRollout(tree: GrowingTree, ordinal: number, fromStepId: string): Promise<void> {
  const rolloutId = derivedId('rollout', tree.treeId, ordinal);
  const attributes = { 'espalier.tree': tree.treeId, 'espalier.rollout': rolloutId };
  return inSpan('rollout', { attributes }, () =>
    drawingFor(tree, rolloutId, (drawn) => walkOn(drawn, { rolloutId, ordinal, fromStepId })),
  );
}

async function walkOn(tree: GrowingTree, { rolloutId, ordinal, fromStepId }: Omit<Walk, 'tree' | 'seed'>): Promise<void> {
  const recorded = tree.tree?.rollouts.get(ordinal);
  const taken = [...(tree.tree?.steps.values() ?? [])].filter((step) => step.rolloutId === rolloutId);
  for (const _ of taken) tree.onStep();
  if (recorded?.outcome) {
    tree.onRollout(recorded.success === true);
    if (recorded.outcome === 'failed') tree.onFailure(recorded.reason);
    return;
  }
  if (tree.signal.aborted) return;
  const walk: Walk = {
    tree,
    ordinal,
    rolloutId,
    fromStepId,
    seed: seedFrom('rollout', tree.seed, tree.task.alias, tree.treeIndex, ordinal),
  };

  const path = pathTo(tree, taken.at(-1)?.stepId ?? fromStepId);
  const environment = await withFault(tree.kind.create());
  if (!recorded) await append(walk, [rolloutStartedDraft(walk)]);
  if ('reason' in environment) return giveUp(walk, path.at(-1), environment);
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (!isClosed) await environment.close();
    isClosed = true;
  };
  try {
    const replayed = await withFault(restoreEnvironment(tree, environment, path, rolloutId));
    if (replayed.kind === 'diverged') return await finish(walk, path.at(-1), 'failed', null, reasonOf(replayed.at));
    if (replayed.kind !== 'same') return await giveUp(walk, path.at(-1), replayed);
    if (taken.length > 0 && replayed.last && (endsIn(replayed.last) || isLast(walk, taken.length))) {
      // The last step is in the record, its reward or the end of the rollout is not: a kill fell between them.
      const leaf = path.at(-1);
      const success = successOf(walk, replayed.last);
      if (leaf && !tree.tree?.rewarded.has(leaf.stepId)) await append(walk, rewardDrafts(walk, leaf.stepId, replayed.last, true));
      await append(walk, await closing(walk, path, success));
      return await finish(walk, leaf, outcomeOf(replayed.last), success, replayed.last.reason ?? '');
    }
    await goOn(walk, environment, path, { already: taken.length, close });
  } finally {
    await close();
  }
}

/** Takes steps until the episode ends. @param given `close` ends the episode before its rollout does. */
async function goOn(
  walk: Walk,
  environment: Environment,
  path: TreeNode[],
  { already, close }: { readonly already: number; readonly close: () => Promise<void> },
): Promise<void> {
  const { tree } = walk;
  for (let steps = already; ; steps++) {
    if (tree.signal.aborted) return;
    const at = path.at(-1);
    if (!at) throw new RangeError('a path begins with the root');
    const began = tree.clock();
    const recorded = tree.plan.chat ? (tree.tree?.replies.get(at.stepId) ?? null) : null;
    const asked = await withFault(
      askPolicy(tree, environment, path, { seed: walk.seed, n: 1, recorded: recorded?.acts ?? null }),
    );
    if (asked.kind !== 'acts') return giveUp(walk, at, asked);
    const act = asked.acts[0] as Act; // there is at least one
    const decided = tree.clock();
    const policyMs = recorded?.policyMs ?? Math.max(0, decided - began);
    if (tree.plan.chat && !recorded)
      await append(walk, [repliesSampled(tree, { stepId: at.stepId, simulation: 0, candidates: 1 }, { acts: [act], policyMs })]);
    const answered = await withFault(answerTo(tree, environment, act.response));
    if (answered.kind !== 'answered') return giveUp(walk, at, answered);
    const { parsed, result } = answered;
    const done = endsIn(result) || isLast(walk, steps + 1);
    const timings = { policyMs, environmentMs: Math.max(0, tree.clock() - decided) };
    const { rolloutId } = walk;
    const stepId = derivedId('step', rolloutId, at.depth + 1);
    const step = stepData({ tree, stepId, rolloutId, at, act, parsed, result, timings, done });
    const shown = promptDrafts(tree, path, stepId, act);
    const drafts = [
      stepDraft(tree, step),
      ...toolDrafts(tree, stepId, result),
      ...historyDrafts(tree, path, stepId, asked.history),
      ...shown.drafts,
      ...rewardDrafts(walk, stepId, result, done),
    ];
    const node = {
      stepId: step.stepId,
      parentStepId: at.stepId,
      depth: step.depth,
      response: act.response,
      action: result.executed ?? parsed.action,
      observation: result.observation,
      pictures: picturesOf(result),
      admissibleActions: result.admissibleActions,
      stateHash: result.stateHash,
      ended: done,
      policyVersion: (act.policy ?? tree.policy.ref).version,
      prompt: done ? null : shown.prompt,
    };
    const success = successOf(walk, result);
    if (done) {
      if (wantsClaimCompared(walk, node)) {
        await append(walk, drafts.splice(0)); // played again it takes as long as it took, and may need the place of this episode
        await close();
        await compareClaim(walk, path, node, result);
      }
      for (const each of await closing(walk, [...path, node], success)) drafts.push(each);
      drafts.push(rolloutFinishedDraft(walk, node, outcomeOf(result), success, result.reason ?? ''));
    }
    await append(walk, drafts);
    tree.nodes.set(node.stepId, node);
    path.push(node);
    tree.onStep();
    if (done) return tree.onRollout(result.success === true);
  }
}

/** Whether a rollout is to be played again: the first of a run, and others at random, where equal actions are claimed to be answered alike. */
function wantsClaimCompared(walk: Walk, last: TreeNode): boolean {
  const { kind, signal } = walk.tree;
  if (!kind.deterministic || signal.aborted) return false;
  return wantsComparison(kind, { isFirst: isFirstOfRun(walk), stepId: last.stepId });
}

function isFirstOfRun({ tree, ordinal }: Walk): boolean {
  return tree.treeIndex === 0 && ordinal === 0;
}

/** Plays a rollout again. @throws EnvironmentError `claim` of the first of a run; of a later one a difference is counted, and the run goes on. */
async function compareClaim(walk: Walk, path: readonly TreeNode[], last: TreeNode, result: StepResult): Promise<void> {
  const { tree } = walk;
  try {
    await compareWithOpening(tree, { path, action: last.action, result, hasCopied: false });
  } catch (error) {
    if (!(error instanceof EnvironmentError) || (error.code === 'claim' && isFirstOfRun(walk))) throw error;
    if (error.code === 'claim') tree.onCompared('undecided');
  }
}

async function answerTo({ prompter, signal }: GrowingTree, environment: Environment, response: string) {
  const parsed = prompter ? readAnswer(prompter, response) : environment.parse(response);
  const result = await inSpan('environment step', {}, () => environment.step(parsed.action, signal));
  return { kind: 'answered' as const, parsed, result };
}

function closing({ tree, rolloutId, fromStepId }: Walk, path: readonly TreeNode[], success: boolean | null): Promise<Draft[]> {
  const fromDepth = tree.nodes.get(fromStepId)?.depth ?? 0;
  return closingRewards(tree, path, { rolloutId, fromDepth, success: success === true });
}

/** Ends a rollout that cannot go on, or leaves it open for a resume. A trainer waits for its group, so that one ends at once. */
async function giveUp(walk: Walk, at: TreeNode | undefined, { kind, reason }: EnvironmentFault): Promise<void> {
  if (kind === 'away' && !walk.tree.plan.training) return walk.tree.onAway(reason);
  return finish(walk, at, 'failed', null, reason);
}

function reasonOf(at: 'opening' | 'step'): string {
  if (at === 'opening')
    return 'the environment opens the task otherwise than was recorded: equal task and seed must begin alike, whatever was played before';
  return 'the environment did not repeat what was recorded';
}

/** An episode without a word on its end did not succeed; a chat has no task that it could succeed in. */
function successOf({ tree }: Walk, { success }: StepResult): boolean | null {
  return success ?? (tree.plan.chat ? null : false);
}

function endsIn(result: StepResult): boolean {
  return result.terminated || result.truncated;
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
  outcome: RolloutOutcome,
  success: boolean | null,
  reason: string,
): Promise<void> {
  if (!leaf) throw new RangeError('a path begins with the root');
  await append(walk, [rolloutFinishedDraft(walk, leaf, outcome, success, reason)]);
  walk.tree.onRollout(success === true);
  if (outcome === 'failed') walk.tree.onFailure(reason);
}
