import { z } from 'zod';
import { wellFormed } from '../../../../events/well-formed.ts';
import type { ParsedItem } from '../agent-traj-item.ts';
import { unreadNotes } from '../row-note.ts';
import { withNotes } from '../with-notes.ts';
import { chatEpisode, refusedShape } from './chat-episode.ts';

const row = z.looseObject({
  input: z.string(),
  output: z.string(),
  score: z.number().nullish(),
  step: z.number().int().nonnegative().nullish(),
  uid: z.string().nullish(),
});
/** The fields that `parseVerlRow` reads. */
export const VERL_FIELDS = Object.keys(row.shape);

/**
 * Reads a line of verl's rollout dumps (`trainer.rollout_data_dir`): the prompt as a text, the reply, its score, and the step of
 * the training, which is the version of the policy. Rows of one `uid`, or else of one prompt, are rollouts of one task. The
 * replies are context: with tools they hold what those said, and a dump has no mask that tells the two apart.
 */
export function parseVerlRow(value: unknown, environment: string | null): ParsedItem {
  const parsed = row.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { input, output, score, step, uid } = parsed.data;
  const read = chatEpisode(
    [
      { role: 'user', content: input },
      { role: 'assistant', content: output, weight: 0 },
    ],
    {
      environment: environment ?? 'verl',
      reward: score ?? null,
      policy: { policyId: 'verl', version: step ?? 0 },
      ...(uid ? { alias: uid } : {}),
    },
  );
  return withNotes(read, [{ kind: 'reply-without-mask', field: null }, ...unreadNotes(parsed.data, VERL_FIELDS)]);
}
