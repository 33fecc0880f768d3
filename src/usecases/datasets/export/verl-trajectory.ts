import { pictureIds } from '../../../domain/dataset/shown-rows.ts';
import type { ChatTokenizer } from './chat-tokenizer.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import { verlMessages, verlTools } from './message-forms.ts';
import type { Pictures } from './pictures.ts';
import { shownSteps } from './shown-steps.ts';
import { componentRows, episodeColumns, versionColumns } from './verl-episode.ts';
import { tokenRowsOf } from './verl-rows.ts';
import { splitOwn, tookBy } from './verl-tokens.ts';

/**
 * Writes a trajectory as rows of `verlTrajectories`: one, or one per cut; none for one that took no step. @throws DatasetError
 * `missing-tokens`.
 */
export async function* verlTrajectoryRows(
  trajectory: ExportTrajectory,
  { pictures, tokenizer }: { readonly pictures: Pictures; readonly tokenizer: ChatTokenizer | null },
): AsyncGenerator<Readonly<Record<string, unknown>>> {
  const { head, root, firstPictures = [], steps, rewards, rollout } = trajectory;
  const { context, own } = splitOwn(trajectory);
  const episode = episodeColumns(trajectory);
  const path = { instruction: head.instruction, firstObservation: root.observation, firstPictures, steps };
  const shown = shownSteps(path, []);
  const mine = own.map((step) => tookBy(step, rollout)); // a guide's tokens are shown, not sampled by the policy
  const { rows, retokenised } = tokenRowsOf({ ...trajectory, steps: own }, shown.slice(context.length), tokenizer);
  for (const row of rows) {
    const first = shown[context.length + row.from];
    const lastPrompt = shown[context.length + row.to - 1]?.prompt ?? [];
    const ids = pictureIds(lastPrompt);
    const covered = own.slice(row.from, row.to).map(({ stepId }) => stepId);
    const drawn =
      ids.length === 0
        ? []
        : await pictures.of(
            ids,
            covered.slice(-1).map((id) => ({ treeId: head.treeId, id })),
          );
    const place = `step ${covered[0]} of trajectory ${rollout.rolloutId}`;
    yield {
      ...episode,
      cut_index: row.cut,
      cuts: rows.length - 1,
      first_step: row.from,
      step_ids: covered,
      raw_prompt: verlMessages(first?.prompt ?? [], place, pictures.any),
      ...(pictures.structured ? { tools: verlTools(first) } : {}),
      prompt_source: first?.source ?? 'composed',
      ...(pictures.any
        ? {
            images: drawn.map(({ png, id }) => ({ bytes: png, path: `${id}.png` })),
            image_ids: ids,
            image_factors: drawn.map(({ factor }) => factor),
          }
        : {}),
      tokenised: covered.some((_, k) => retokenised.has(row.from + k)) ? 'retokenised' : 'recorded',
      prompts: row.promptIds && Array.from(row.promptIds),
      responses: Array.from(row.ids),
      response_mask: Array.from(row.mask, (m, i) => (m === 1 && mine[row.steps[i] ?? 0] ? 1 : 0)),
      rollout_log_probs: row.logProbs && Array.from(row.logProbs),
      step_indices: Array.from(row.steps),
      step_ends: row.ends,
      token_level_scores: Array.from(row.scores),
      rewards: componentRows(rewards),
      __num_turns__: covered.length,
      ...versionColumns(row.spans, rollout),
    };
  }
}
