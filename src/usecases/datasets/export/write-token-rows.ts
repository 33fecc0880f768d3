import { turnWeights } from '../../../domain/dataset/turn-weights.ts';
import type { ChatTokenizer } from './chat-tokenizer.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { ExportFormat } from './format.ts';
import { partOf, rowMetadata } from './row-metadata.ts';
import { originOf } from './shown-examples.ts';
import { refuseUnsaid, shownSteps } from './shown-steps.ts';
import { refusePicturesIn, type TokenBody, tokenBody } from './token-body.ts';
import { tokenRowsOf } from './verl-rows.ts';

/**
 * Writes a trajectory as token ids for supervised trainers: one line with the masks of every turn, or one per cut where a prompt
 * does not continue the tokens before it. `input_ids` is the first prompt and all that followed, `loss_mask` 1 on the tokens of
 * replies that are trained on, `labels` their ids and -100 elsewhere, `position_ids` from 0. Ids are those on record; texts
 * without are tokenised, and `tokenised` says so. None for a trajectory without a reply to train on.
 * @throws DatasetError `missing-tokens`, `missing-prompt`, `bad-row`.
 */
export function tokenBodies(
  trajectory: ExportTrajectory,
  { weights: rule, metadata }: Extract<ExportFormat, { kind: 'trl' }>,
  tokenizer: ChatTokenizer,
): readonly TokenBody[] {
  const { head, root, firstPictures = [], steps, rollout, config } = trajectory;
  const weights = turnWeights(steps, rollout, rule);
  const from = weights.indexOf(1);
  if (from < 0) return [];
  const to = weights.lastIndexOf(1) + 1;
  const path = { instruction: head.instruction, firstObservation: root.observation, firstPictures, steps };
  const shown = shownSteps(path, weights).slice(from, to);
  for (const { prompt } of shown) refusePicturesIn(prompt, `trajectory ${rollout.rolloutId}`);
  const { rows, retokenised } = tokenRowsOf({ ...trajectory, steps: steps.slice(from, to) }, shown, tokenizer);
  const trained = rows.filter((row) => row.steps.some((step, i) => row.mask[i] === 1 && weights[from + step] === 1));
  const origin = originOf(trajectory);
  return trained.map((row, index) => {
    const covered = shown.slice(row.from, row.to);
    const source = covered.every((step) => step.source === 'recorded') ? 'recorded' : 'composed';
    refuseUnsaid(source, config, `trajectory ${rollout.rolloutId} of run ${head.runId}`, metadata === 'include');
    const opening = Array.from(row.promptIds ?? []);
    const ids = [...opening, ...row.ids];
    const mask = [...opening.map(() => 0), ...Array.from(row.mask, (m, i) => m * (weights[from + (row.steps[i] ?? 0)] ?? 0))];
    return {
      ...tokenBody(ids, mask, covered.some((_, i) => retokenised.has(row.from + i)) ? 'retokenised' : 'recorded'),
      ...(metadata === 'include'
        ? { metadata: rowMetadata(origin, { prompt: source, part: partOf(row, index, trained.length, from) }) }
        : {}),
    };
  });
}
