import { promptMessages } from '../../../domain/history/prompt.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import { componentRows, episodeColumns, versionColumns } from './verl-episode.ts';
import { splitOwn, stepTokens } from './verl-tokens.ts';

/**
 * Writes the steps that a rollout took as rows of `VERL_STEPS`. Each has the whole chat before it: the file grows with the square
 * of an episode's length.
 */
export function* verlStepRows(trajectory: ExportTrajectory): Generator<Readonly<Record<string, unknown>>> {
  const { head, root, steps, rollout } = trajectory;
  const { context, own } = splitOwn(trajectory);
  const episode = episodeColumns(trajectory);
  for (const [i, step] of own.entries()) {
    const before = context.length + i;
    const tokens = stepTokens(step);
    yield {
      ...episode,
      step_indices: i,
      step_id: step.stepId,
      raw_prompt: promptMessages({
        instruction: head.instruction,
        firstObservation: root.observation,
        history: steps.slice(0, before),
      }),
      response_text: step.response,
      responses: tokens?.ids ?? null,
      response_mask: tokens?.mask ?? null,
      rollout_log_probs: tokens?.logProbs ?? null,
      step_reward: Object.values(step.rewards).reduce((sum, value) => sum + value, 0),
      rewards: componentRows(step.rewards),
      trajectory_rewards: componentRows(trajectory.rolloutRewards),
      anchor_obs: (steps[before - 1] ?? root).stateHash, // a step keeps the hash of the state that it led to
      is_action_valid: step.executable,
      termination: step.termination,
      ...versionColumns(step.policySpans, rollout),
    };
  }
}
