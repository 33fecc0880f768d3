import { pictureIds } from '../../../domain/dataset/shown-rows.ts';
import { turnWeights, type WeightRule } from '../../../domain/dataset/turn-weights.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { FormatEntry } from './format.ts';
import { partMessages, toolsColumn, xtunerConversation } from './message-forms.ts';
import { picturesNamed } from './row-metadata.ts';
import { imagesColumn, type PictureShelf, picturesIn, type ShownExample, shownExamples } from './shown-steps.ts';
import { type TrlFormat, writeTokens } from './token-body.ts';
import { writeBodies } from './write-trajectories.ts';

/** One conversation of xtuner per line, `output_with_loss` says of each reply whether it is trained on. */
export interface XtunerFormat {
  readonly kind: 'xtuner';
  readonly weights: WeightRule;
  readonly metadata: 'include' | 'omit';
}

/**
 * Writes a trajectory for xtuner (a line per conversation) or TRL (a line per trained reply). None for a trajectory without a
 * reply to train on.
 */
export async function chatBodies(
  trajectory: ExportTrajectory,
  { kind, weights, metadata }: XtunerFormat | TrlFormat,
  shelf: PictureShelf,
): Promise<readonly object[]> {
  const says = metadata === 'include';
  const examples = shownExamples(trajectory, {
    from: 0,
    says,
    weights: turnWeights(trajectory.steps, trajectory.rollout, weights),
  });
  const bodies: object[] = [];
  for (const example of examples) {
    const place = `trajectory ${trajectory.rollout.rolloutId}`;
    if (kind === 'trl') for (const each of await completionBodies(example, says, shelf)) bodies.push(each);
    else
      bodies.push({
        ...xtunerConversation(example.row.messages, place),
        ...(says ? { metadata: example.metadata } : {}),
      });
  }
  return bodies;
}

/**
 * Writes a line for every reply that is trained on: all before it is its prompt. TRL has no loss flag per message; a completion
 * of several turns would train on the observations between them, and on no reply in the middle of a prompt.
 */
export async function completionBodies(
  { row, path, metadata }: ShownExample,
  says: boolean,
  shelf: PictureShelf,
): Promise<readonly object[]> {
  const { any } = shelf.pictures;
  const pictures = await picturesIn(row.messages, path, shelf);
  const bodies: object[] = [];
  for (const [i, message] of row.messages.entries()) {
    if (message.weight !== 1) continue;
    const before = row.messages.slice(0, i);
    const drawn = pictures.slice(0, pictureIds(before).length);
    bodies.push({
      prompt: partMessages(before, any),
      completion: partMessages([message], any),
      ...toolsColumn(row.tools),
      ...(await imagesColumn(drawn, shelf)),
      ...(says ? { metadata: { ...metadata, ...picturesNamed(drawn, shelf.pictures) } } : {}),
    });
  }
  return bodies;
}

export const xtunerFormat: FormatEntry<XtunerFormat> = {
  kind: 'xtuner',
  version: 5,
  container: 'lines',
  options: ({ weights, metadata }) => ({ weights, metadata }),
  notes: xtunerNotes,
  write: (job) => writeBodies(job, (trajectory) => chatBodies(trajectory, job.format, job)),
};

export function xtunerNotes(): readonly string[] {
  return ['note: xtuner reads `output_with_loss`; TRL (SFTTrainer), verl and LLaMA-Factory do not know the form'];
}

export const trlFormat: FormatEntry<TrlFormat> = {
  kind: 'trl',
  version: 5,
  container: 'lines',
  options: ({ weights, metadata, tokenizer, container }) => ({
    weights,
    metadata,
    ...(tokenizer === undefined ? {} : { tokenizer, ...(container === undefined ? {} : { container }) }),
  }),
  notes: trlNotes,
  write: (job) =>
    job.format.tokenizer !== undefined && job.tokenizer
      ? writeTokens(job, job.tokenizer)
      : writeBodies(job, (trajectory) => chatBodies(trajectory, job.format, job)),
};

export function trlNotes({ tokenizer }: Pick<TrlFormat, 'tokenizer'>): readonly string[] {
  return tokenizer !== undefined
    ? ['note: TRL (SFTTrainer) trains on `labels`, where they are not -100; set max_length=None, or it cuts rows at 1,024 tokens']
    : ['note: TRL (SFTTrainer) trains on `completion`; --tokenizer DIR writes a row per trajectory instead of one per reply'];
}
