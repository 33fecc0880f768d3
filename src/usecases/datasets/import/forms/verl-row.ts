import { z } from 'zod';
import { wellFormed } from '../../../../events/well-formed.ts';
import type { ParsedItem } from '../agent-traj-item.ts';
import { chatEpisode, refusedShape } from './chat-episode.ts';

const row = z.looseObject({
  input: z.string(),
  output: z.string(),
  score: z.number().nullish(),
  step: z.number().int().nonnegative().nullish(),
  uid: z.string().optional(),
});

/**
 * Reads a line of verl's rollout dumps (`trainer.rollout_data_dir`): the prompt as a text, the reply, its score, and the step of
 * the training, which is the version of the policy. Replies to one prompt are rollouts of one task.
 */
export function parseVerlRow(value: unknown, environment: string | null): ParsedItem {
  const parsed = row.safeParse(wellFormed(value).value);
  if (!parsed.success) return refusedShape(parsed.error);
  const { input, output, score, step } = parsed.data;
  return chatEpisode(
    [
      { role: 'user', content: input },
      { role: 'assistant', content: output },
    ],
    { environment: environment ?? 'verl', reward: score ?? null, policy: { policyId: 'verl', version: step ?? 0 } },
  );
}
