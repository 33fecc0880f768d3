import { servedMessage } from '../../domain/prompts/served-message.ts';
import type { Method } from '../../events/schemas/training.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import type { BatchRows, BatchStep, BatchTrajectory } from './batch-rows.ts';
import { baselineTensor, componentsOf, jaggedTokens, ownSteps, rewardTensor, totalOf } from './jagged.ts';
import type { LaidOut } from './layout.ts';
import type { Tensor } from './safetensors.ts';

/**
 * Lays a batch out with one row per step that its rollouts took. A step without recorded tokens has a row of length 0: a policy
 * over candidates is trained by texts. `texts` holds each trajectory's situation once (goal, first observation, then step by step
 * what was done, seen and could have been done; the reply as a chat message where it calls tools or holds reasoning), so the whole
 * is linear in the record. `rewards` and `trajectory_rewards` have
 * the record's own values, `step_scores` what is trained on: their sum by the weights of the plan, rewards of the whole rollout
 * on its last step.
 */
export function stepLayout(rows: BatchRows, advantages: RowAdvantages | null = null): LaidOut {
  const { batch, trajectories } = rows;
  const steps = trajectories.flatMap((trajectory, index) =>
    ownSteps(trajectory).map((step, number) => ({ step, number, index, trajectory })),
  );
  const tokens = steps.map(({ step }) => step.tokens && { ...step.tokens, spans: step.spans });
  const components = componentsOf(rows);
  const trainedOn = steps.map(({ step, number, trajectory }) => {
    const isLast = number === ownSteps(trajectory).length - 1;
    return totalOf(step.rewards) + (isLast ? totalOf(trajectory.rewards) : 0);
  });
  const stepRewards = steps.map(({ step }) => step.rewards);
  const ofSteps = (value: (row: (typeof steps)[number]) => number) => Int32Array.from(steps, value);
  const shape = [steps.length];
  return {
    kind: 'laid-out',
    tensors: [
      ...jaggedTokens(tokens, batch.policyId),
      ...advantageColumns(
        steps.reduce((sum, { step }) => sum + (step.tokens?.ids.length ?? 0), 0),
        sampledTokensOf(steps),
        advantages,
      ),
      rewardTensor('rewards', components, stepRewards),
      rewardTensor(
        'trajectory_rewards',
        components,
        trajectories.map(({ rewards }) => rewards),
      ),
      ...baselineTensor(steps.map(({ trajectory }) => trajectory)),
      { name: 'step_scores', shape, data: Float64Array.from(trainedOn) },
      { name: 'trajectory_index', shape, data: ofSteps(({ index }) => index) },
      { name: 'group_index', shape, data: ofSteps(({ trajectory }) => trajectory.group) },
      { name: 'step_indices', shape, data: ofSteps(({ number }) => number) },
      { name: 'terminated', shape, data: Uint8Array.from(steps, ({ step }) => Number(step.termination === 'terminated')) },
      { name: 'truncated', shape, data: Uint8Array.from(steps, ({ step }) => Number(step.termination === 'truncated')) },
    ],
    names: {
      components,
      steps: steps.map(({ step }) => step.stepId),
      trajectories: trajectories.map(({ rolloutId }) => rolloutId),
    },
    texts: trajectories.map(textsOf),
  };
}

function* sampledTokensOf(
  steps: readonly { readonly step: BatchStep; readonly trajectory: BatchTrajectory }[],
): Generator<SampledToken> {
  let from = 0;
  for (const { step, trajectory } of steps) {
    const { stepId, tokens } = step;
    const { treeId } = trajectory;
    for (const [at, sampled] of tokens?.mask.entries() ?? []) if (sampled === 1) yield { at: from + at, treeId, stepId };
    from += tokens?.ids.length ?? 0;
  }
}

/** What a trajectory says: the steps before `from` are context, the others are the rows. */
export function textsOf(trajectory: BatchTrajectory): TrajectoryTexts {
  return {
    rolloutId: trajectory.rolloutId,
    treeId: trajectory.treeId,
    runId: trajectory.runId,
    taskId: trajectory.taskId,
    environment: trajectory.environment,
    goal: trajectory.goal,
    instruction: trajectory.instruction,
    outcome: trajectory.outcome,
    success: trajectory.success,
    temperature: trajectory.temperature,
    firstObservation: trajectory.firstObservation,
    from: trajectory.from,
    after: trajectory.after,
    steps: trajectory.steps.map(stepTexts),
  };
}
/** Groups and rewards are tensors. */
type TrajectoryTexts = Omit<BatchTrajectory, 'group' | 'rewards' | 'prompting' | 'greedyScore' | 'steps'> & {
  readonly steps: readonly ReturnType<typeof stepTexts>[];
};

function stepTexts({ response, message, action, observation, candidates, anchor, wellFormatted, executable }: BatchStep) {
  const structured = message && { message: servedMessage(message) };
  return { response, ...structured, action, observation, candidates, anchor, wellFormatted, executable };
}

/** What the estimator of a batch makes of the sampled tokens of its steps; or why it makes nothing. */
export type RowAdvantages = EstimatedRows | NotEstimated;

interface EstimatedRows {
  readonly kind: 'estimated';
  readonly method: Method;
  /** By `keyInTree` of the step: one number for each sampled token, or one for all of them. */
  readonly ofStep: ReadonlyMap<string, StepAdvantages>;
}

export interface StepAdvantages {
  readonly advantages: Float64Array;
  readonly returns: Float64Array;
}

interface NotEstimated {
  readonly kind: 'refused';
  readonly reason: string;
}

/** A token that a policy sampled: where it is among all tokens of the layout, and the step that it was sampled in. */
export interface SampledToken {
  readonly at: number;
  readonly treeId: string;
  readonly stepId: string;
}

/**
 * Lays advantages and returns out as columns of a number per token: 0 on tokens that nobody sampled.
 * @param sampled in the order in which each step sampled them.
 */
export function advantageColumns(
  tokens: number,
  sampled: Iterable<SampledToken>,
  found: RowAdvantages | null,
): readonly Tensor[] {
  if (found?.kind !== 'estimated') return [];
  const [advantages, returns] = [new Float32Array(tokens), new Float32Array(tokens)];
  const taken = new Map<string, number>();
  for (const { at, treeId, stepId } of sampled) {
    const key = keyInTree(treeId, stepId);
    const step = found.ofStep.get(key);
    if (!step) continue;
    const place = taken.get(key) ?? 0;
    taken.set(key, place + 1);
    advantages[at] = step.advantages[step.advantages.length === 1 ? 0 : place] ?? 0;
    returns[at] = step.returns[step.returns.length === 1 ? 0 : place] ?? 0;
  }
  return [
    { name: 'advantages', shape: [tokens], data: advantages },
    { name: 'returns', shape: [tokens], data: returns },
  ];
}

/** What the metadata of a body says of its advantages. */
export function describeAdvantages(advantages: RowAdvantages): string {
  return JSON.stringify(advantages.kind === 'estimated' ? { method: advantages.method } : { refused: advantages.reason });
}
