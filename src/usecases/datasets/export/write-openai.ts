import { turnWeights, type WeightRule } from '../../../domain/dataset/turn-weights.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import { contextOf, type FormatEntry } from './format.ts';
import { openaiMessages, toolsField } from './message-forms.ts';
import { picturesNamed } from './row-metadata.ts';
import { type PictureShelf, picturesIn, shownExamples } from './shown-steps.ts';
import type { ContextRule } from './without-context.ts';
import { writePlain } from './write-trajectories.ts';

/** One chat per line, for fine-tuning: messages with a weight per assistant turn, and where it came from unless left out. */
export interface OpenAiFormat {
  readonly kind: 'openai';
  readonly weights: WeightRule;
  readonly metadata: 'include' | 'omit';
  /** What becomes of replies that are context; left out, they stay with `weight` 0. */
  readonly context?: Exclude<ContextRule, 'keep'>;
}

/**
 * Writes a trajectory for OpenAI chat fine-tuning: `messages` with `weight` 0 or 1 on assistant turns, and the `tools` that
 * were offered. One line where each prompt
 * continues the one before, else one for each part that does; none for a trajectory without a step: it has no reply to train on.
 */
export async function openaiBodies(
  trajectory: ExportTrajectory,
  { weights, metadata }: OpenAiFormat,
  shelf: PictureShelf,
): Promise<readonly object[]> {
  const says = metadata === 'include';
  const examples = shownExamples(trajectory, {
    from: 0,
    says,
    weights: turnWeights(trajectory.steps, trajectory.rollout, weights),
  });
  return Promise.all(
    examples.map(async ({ row, path, ...example }) => {
      const pictures = await picturesIn(row.messages, path, shelf);
      const body = { messages: openaiMessages(row.messages, pictures, shelf.pictures.any), ...toolsField(row.tools) };
      return says ? { ...body, metadata: { ...example.metadata, ...picturesNamed(pictures, shelf.pictures) } } : body;
    }),
  );
}

export const openaiFormat: FormatEntry<OpenAiFormat> = {
  kind: 'openai',
  version: 6,
  container: 'lines',
  options: ({ weights, metadata, ...given }) => ({ weights, metadata, ...contextOf(given) }),
  notes: openaiNotes,
  write: (job) => writePlain(job, (trajectory) => openaiBodies(trajectory, job.format, job)),
};

export function openaiNotes({ context }: Pick<OpenAiFormat, 'context'>): readonly string[] {
  return context === undefined
    ? [
        'note: OpenAI fine-tuning reads `weight`; TRL, verl, LLaMA-Factory and torchtune ignore it and train on every reply. For those: --format trl, or leave out --context keep',
      ]
    : [
        'note: every reply in this file is trained on: OpenAI fine-tuning, LLaMA-Factory (formatting: openai), verl (MultiTurnSFTDataset) and torchtune read it alike',
        'note: TRL (SFTTrainer) does so with assistant_only_loss=True; without it, it trains on the prompts too: take --format trl',
      ];
}
