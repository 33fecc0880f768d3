import { pictureIds } from '../../../domain/dataset/shown-rows.ts';
import { sumAmounts } from '../../../domain/reward/amount.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import { verlMessages, verlTools } from './message-forms.ts';
import type { Pictures } from './pictures.ts';
import { shownSteps } from './shown-steps.ts';
import { componentRows, episodeColumns, versionColumns } from './verl-episode.ts';
import { splitOwn, stepTokens, tookBy } from './verl-tokens.ts';

/**
 * Writes the steps that a rollout took as rows of `VERL_STEPS`. Each has the whole prompt that it was asked with: the file grows
 * with the square of an episode's length.
 */
export async function* verlStepRows(
  trajectory: ExportTrajectory,
  pictures: Pictures,
): AsyncGenerator<Readonly<Record<string, unknown>>> {
  const { head, root, firstPictures = [], steps, rollout } = trajectory;
  const { context, own } = splitOwn(trajectory);
  const episode = episodeColumns(trajectory);
  const path = { instruction: head.instruction, firstObservation: root.observation, firstPictures, steps };
  const shown = shownSteps(path, []);
  for (const [i, step] of own.entries()) {
    const before = context.length + i;
    const tokens = stepTokens(step);
    const prompt = shown[before]?.prompt ?? [];
    const ids = pictureIds(prompt);
    const drawn = ids.length === 0 ? [] : await pictures.of(ids, [{ treeId: head.treeId, id: step.stepId }]);
    const place = `step ${step.stepId} of trajectory ${rollout.rolloutId}`;
    yield {
      ...episode,
      step_indices: i,
      step_id: step.stepId,
      raw_prompt: verlMessages(prompt, place, pictures.any),
      ...(pictures.structured ? { tools: verlTools(shown[before]) } : {}),
      ...(pictures.prompts ? { prompt_source: shown[before]?.source ?? 'composed' } : {}),
      ...(pictures.any
        ? {
            images: drawn.map(({ png, id }) => ({ bytes: png, path: `${id}.png` })),
            image_ids: ids,
            image_factors: drawn.map(({ factor }) => factor),
          }
        : {}),
      response_text: step.response,
      ...(pictures.structured ? { response_message: verlMessages([step.message], place, false)[0] } : {}),
      responses: tokens?.ids ?? null,
      response_mask: tokens && (tookBy(step, rollout) ? tokens.mask : tokens.mask.map(() => 0)),
      rollout_log_probs: tokens?.logProbs ?? null,
      step_reward: sumAmounts(Object.values(step.rewards)),
      rewards: componentRows(step.rewards),
      trajectory_rewards: componentRows(trajectory.rolloutRewards),
      anchor_obs: (steps[before - 1] ?? root).stateHash, // a step keeps the hash of the state that it led to
      is_action_valid: step.executable,
      termination: step.termination,
      ...versionColumns(step.policySpans, rollout),
    };
  }
}
