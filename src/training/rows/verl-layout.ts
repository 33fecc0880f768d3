import type { BatchRows, BatchStep, BatchTrajectory } from './batch-rows.ts';
import { countTokens, JaggedTokens, ownSteps } from './jagged.ts';
import type { LaidOut, NotLaidOut } from './layout.ts';
import { baselineTensor, componentsOf, rewardTensor, totalOf } from './reward-columns.ts';
import { textsOf } from './step-layout.ts';

/**
 * Lays a batch out with one row per trajectory: the tokens of its steps one after the other, mask 1 on the policy's own, 0 on
 * those that it was shown in between. `token_level_scores` has each step's reward on its last sampled token, and that of the
 * whole rollout on the last of all. Only recorded ids are used: a trajectory whose observations were recorded as text alone has
 * holes between its steps, and is refused.
 */
export function verlLayout(rows: BatchRows): LaidOut | NotLaidOut {
  const { batch, trajectories } = rows;
  for (const trajectory of trajectories) {
    const refusal = refuse(trajectory);
    if (refusal) return refusal;
  }
  const tokens = new JaggedTokens(trajectories.length, countTokens(trajectories), batch.policyId);
  const scores = new Float32Array(countTokens(trajectories));
  for (const trajectory of trajectories) {
    let last = -1;
    for (const step of ownSteps(trajectory)) {
      const place = tokens.add(step);
      if (place < 0) continue; // refused above: every step sampled something
      scores[place] = totalOf(step.rewards);
      last = place;
    }
    if (last >= 0) scores[last] = (scores[last] ?? 0) + totalOf(trajectory.rewards);
    tokens.endRow();
  }
  const components = componentsOf(rows);
  const allRewards = trajectories.map((trajectory) => [
    ...ownSteps(trajectory).flatMap((step) => step.rewards),
    ...trajectory.rewards,
  ]);
  const shape = [trajectories.length];
  return {
    kind: 'laid-out',
    tensors: [
      ...tokens.tensors(),
      { name: 'token_level_scores', shape: [scores.length], data: scores },
      rewardTensor('rewards', components, allRewards),
      ...baselineTensor(trajectories),
      { name: 'group_index', shape, data: Int32Array.from(trajectories, ({ group }) => group) },
      { name: 'num_turns', shape, data: Int32Array.from(trajectories, (trajectory) => ownSteps(trajectory).length) },
      { name: 'terminated', shape, data: Uint8Array.from(trajectories, ({ outcome }) => Number(outcome === 'terminated')) },
      { name: 'truncated', shape, data: Uint8Array.from(trajectories, ({ outcome }) => Number(outcome === 'truncated')) },
    ],
    names: { components, trajectories: trajectories.map(({ rolloutId }) => rolloutId) },
    texts: trajectories.map(textsOf),
  };
}

function refuse(trajectory: BatchTrajectory): NotLaidOut | undefined {
  const steps = ownSteps(trajectory);
  for (const [i, step] of steps.entries()) {
    if (!sampledSomething(step)) return refused(`step ${step.stepId} has no recorded tokens of the policy`);
    if (i < steps.length - 1 && step.tokens?.mask.at(-1) === 1)
      return refused(`step ${step.stepId} has no recorded tokens of its observation, and the next step's tokens follow`);
  }
  return undefined;
}

function sampledSomething({ tokens }: BatchStep): boolean {
  return tokens?.mask.includes(1) ?? false;
}

function refused(message: string): NotLaidOut {
  return {
    kind: 'refused',
    message: `the layout verl needs every token of a trajectory: ${message}`,
    remedy: 'ask for layout=step; texts are never tokenised again, since what comes out may not be what was sampled',
  };
}
