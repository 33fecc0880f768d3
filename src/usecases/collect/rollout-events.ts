import type { Draft } from '../../append/appender.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { ParsedResponse, StepResult } from '../../environments/environment.ts';
import { picturesOf } from '../../environments/with-pictures.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import { pack } from '../../events/packed.ts';
import { pictureData } from '../../images/observation-pictures.ts';
import type { Act, ActTokens } from '../../policies/policy.ts';
import type { GrowingTree, TreeNode } from './growing-tree.ts';

// The events of a rollout. Their ids are derived from what they name: appended again after a kill, they are recognised.

export function rolloutStartedDraft({ tree, rolloutId, fromStepId, ordinal, seed }: Walk): Draft {
  const data = { rolloutId, treeId: tree.treeId, fromStepId, ordinal, seed, policy: tree.policy.ref };
  return {
    type: 'RolloutStarted',
    id: derivedId('RolloutStarted', rolloutId),
    correlationId: tree.runId,
    causationId: derivedId('TreeOpened', tree.treeId),
    data,
  };
}

/** A step as it was taken: where, by which act, and what the environment answered. */
export interface TakenStep {
  readonly tree: GrowingTree;
  readonly stepId: string;
  /** Null for a step of a search that no walk ended in. */
  readonly rolloutId: string | null;
  readonly at: TreeNode;
  readonly act: Act;
  readonly parsed: ParsedResponse;
  readonly result: StepResult;
  readonly timings: DataOf<'StepTaken'>['timings'];
  /** Nothing follows: the environment ended, or a limit was reached. */
  readonly done: boolean;
}

export function stepData({ tree, stepId, rolloutId, at, act, parsed, result, timings, done }: TakenStep): DataOf<'StepTaken'> {
  const sampled = act.tokens?.ids.length ?? act.usage?.completionTokens ?? 0;
  return {
    stepId,
    treeId: tree.treeId,
    parentStepId: at.stepId,
    rolloutId,
    depth: at.depth + 1,
    response: act.response,
    thought: act.apart?.reasoning || parsed.thought,
    ...(act.apart
      ? { reply: { reasoning: act.apart.reasoning !== '', toolCalls: act.apart.toolCalls.map((call) => ({ ...call })) } }
      : {}),
    action: result.executed ?? parsed.action,
    observation: result.observation,
    ...pictureData(picturesOf(result)),
    wellFormatted: parsed.wellFormatted,
    executable: result.executable,
    termination: result.terminated ? 'terminated' : done ? 'truncated' : 'none',
    policySpans: [{ from: 0, to: sampled, ...(act.policy ?? tree.policy.ref) }],
    tokens: act.tokens && { ...packedTokens(act.tokens), mask: null },
    usage: act.usage && { ...act.usage },
    finishReason: act.finishReason,
    call: act.call ?? null,
    timings,
    stateHash: result.stateHash,
    admissibleActions: result.admissibleActions ? [...result.admissibleActions] : null,
  };
}

/** Packs what an engine said of sampled tokens; what it did not say is left out. */
export function packedTokens({ ids, logProbs, ends, entropies }: ActTokens) {
  return {
    ids: pack('int32', ids),
    logProbs: logProbs && pack('float32', logProbs),
    ...(ends ? { ends: pack('int32', ends) } : {}),
    ...(entropies ? { entropies: pack('float32', entropies) } : {}),
  };
}

export function stepDraft(tree: GrowingTree, data: DataOf<'StepTaken'>): Draft {
  return { type: 'StepTaken', id: derivedId('StepTaken', data.stepId), correlationId: tree.runId, data };
}

/** A step's rewards: the environment's when it says something, and always at the end; and each other component by itself. */
export function rewardDrafts(
  { tree, rolloutId }: Pick<TakenStep, 'tree' | 'rolloutId'>,
  stepId: string,
  result: StepResult,
  done: boolean,
): Draft[] {
  const { raw, scale, kind, scorer } = result.reward;
  const value = result.reward.gain ?? result.reward.value; // a return is the sum of a path's rewards
  const environment = {
    component: 'environment',
    value,
    scorer: { ...(scorer ?? { name: tree.kind.name, revision: cutText(tree.kind.fingerprint, 200) }) },
    raw: { value: raw, scale, kind },
  };
  const components = (result.components ?? []).map((each) => ({ ...each, scorer: { ...each.scorer }, raw: null }));
  return [...(value === 0 && !done ? [] : [environment]), ...components].map((given): Draft => {
    const rewardId = derivedId('reward', stepId, given.component);
    const data: DataOf<'RewardAssigned'> = { rewardId, treeId: tree.treeId, stepId, rolloutId, ...given };
    return {
      type: 'RewardAssigned',
      id: derivedId('RewardAssigned', rewardId),
      correlationId: tree.runId,
      causationId: derivedId('StepTaken', stepId),
      data,
    };
  });
}

/** The calls of tools that a step made, in order. */
export function toolDrafts(tree: Pick<GrowingTree, 'treeId' | 'runId'>, stepId: string, result: StepResult): Draft[] {
  return (result.toolCalls ?? []).map(({ reward: _, ...call }, ordinal): Draft => {
    const toolCallId = derivedId('tool-call', stepId, ordinal);
    return {
      type: 'ToolCalled',
      id: derivedId('ToolCalled', toolCallId),
      correlationId: tree.runId,
      causationId: derivedId('StepTaken', stepId),
      data: { toolCallId, treeId: tree.treeId, stepId, ordinal, ...call },
    };
  });
}

export function rolloutFinishedDraft(
  { tree, rolloutId, fromStepId }: Walk,
  leaf: TreeNode,
  outcome: RolloutOutcome,
  success: boolean | null,
  reason: string,
): Draft {
  const steps = leaf.depth - (tree.nodes.get(fromStepId)?.depth ?? 0);
  const data = { rolloutId, treeId: tree.treeId, leafStepId: leaf.stepId, outcome, success, steps, reason };
  return { type: 'RolloutFinished', id: derivedId('RolloutFinished', rolloutId), correlationId: tree.runId, data };
}

export function outcomeOf(result: StepResult): RolloutOutcome {
  return result.terminated ? 'terminated' : 'truncated';
}

/** One rollout under way. */
export interface Walk {
  readonly tree: GrowingTree;
  readonly ordinal: number;
  readonly rolloutId: string;
  readonly fromStepId: string;
  readonly seed: number;
}

export type RolloutOutcome = DataOf<'RolloutFinished'>['outcome'];

/**
 * Records that nothing more comes in a tree, and why. @param rollouts those that it has; all that were planned, or that ended,
 * when left out. @param fault by which the environment failed, where that closes it.
 */
export function treeClosedDraft(
  { runId, treeId, task, plan, nodes }: GrowingTree,
  reason: 'completed' | 'exhausted' | 'failed',
  rollouts?: number,
  fault?: string,
): Draft {
  const ended = () => [...nodes.values()].filter((node) => node.ended).length;
  return {
    type: 'TreeClosed',
    id: derivedId('TreeClosed', treeId),
    correlationId: runId,
    data: {
      treeId,
      reason,
      rollouts: rollouts ?? (plan.search ? ended() : task.rollouts),
      ...(fault === undefined ? {} : { fault }),
    },
  };
}
