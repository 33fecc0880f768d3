import { turnWeights } from '../../../domain/dataset/turn-weights.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { ExportFormat } from './format.ts';
import { openaiMessages, toolsField } from './message-forms.ts';
import { picturesNamed } from './row-metadata.ts';
import { type PictureShelf, picturesIn, shownExamples } from './shown-steps.ts';

/**
 * Writes a trajectory for OpenAI chat fine-tuning: `messages` with `weight` 0 or 1 on assistant turns, and the `tools` that
 * were offered. One line where each prompt
 * continues the one before, else one for each part that does; none for a trajectory without a step: it has no reply to train on.
 */
export async function openaiBodies(
  trajectory: ExportTrajectory,
  { weights, metadata }: Extract<ExportFormat, { kind: 'openai' }>,
  shelf: PictureShelf,
): Promise<readonly object[]> {
  const says = metadata === 'include';
  const examples = shownExamples(trajectory, {
    from: 0,
    says,
    weights: turnWeights(trajectory.steps, trajectory.rollout, weights),
  });
  return Promise.all(
    examples.map(async ({ row, steps: of, ...example }) => {
      const pictures = await picturesIn(row.messages, of, shelf);
      const body = { messages: openaiMessages(row.messages, pictures, shelf.pictures.any), ...toolsField(row.tools) };
      return says ? { ...body, metadata: { ...example.metadata, ...picturesNamed(pictures, shelf.pictures) } } : body;
    }),
  );
}
