import type { ChatMessage } from '../history/prompt.ts';
import type { LossMessage } from '../revision/splice.ts';

/** A row of preference learning as TRL's `DPOTrainer` takes it: conversational, with an explicit prompt. */
export interface PreferenceRow {
  readonly prompt: readonly ChatMessage[];
  readonly chosen: readonly ChatMessage[];
  readonly rejected: readonly ChatMessage[];
}

/**
 * How far chosen and rejected go behind the prompt. `reply`: the first reply in which the two differ, so that nothing but a reply
 * is ever compared. `trajectory`: all that follows, observations between the replies included; only for trainers that mask what
 * is not the assistant's.
 */
export type PreferenceSpan = 'reply' | 'trajectory';

interface Turn {
  readonly response: string;
  readonly observation: string;
}

/**
 * Builds the row of a good and a bad trajectory of one task: the prompt is the opening and what both share, `branch` turns. An
 * observation that nothing answers is left out. @throws RangeError when the two do not part.
 */
export function preferenceRow(
  opening: readonly ChatMessage[],
  pair: { readonly good: readonly Turn[]; readonly bad: readonly Turn[]; readonly branch: number },
  span: PreferenceSpan,
): PreferenceRow {
  const { good, bad, branch } = pair;
  if (branch >= good.length || branch >= bad.length)
    throw new RangeError('a trajectory that ends where the two part has no reply to compare');
  const shared = good.slice(0, branch).flatMap(messagesOf);
  const behind = (turns: readonly Turn[]) =>
    turns
      .slice(branch, span === 'reply' ? branch + 1 : undefined)
      .flatMap(messagesOf)
      .slice(0, -1);
  return { prompt: [...opening, ...shared], chosen: behind(good), rejected: behind(bad) };
}

/** A row of supervised fine-tuning as TRL's `SFTTrainer` takes it: loss is computed on the completion alone. */
export interface CompletionRow {
  readonly prompt: readonly ChatMessage[];
  readonly completion: readonly ChatMessage[];
}

/**
 * Builds a row for every reply that is trained on: all before it is its prompt. TRL has no loss flag per message; a completion of
 * several turns would train on the observations between them, and on no reply in the middle of a prompt.
 */
export function completionRows(messages: readonly LossMessage[]): readonly CompletionRow[] {
  return messages.flatMap(({ role, content, loss }, i) => {
    if (role !== 'assistant' || loss !== true) return [];
    return [
      {
        prompt: messages.slice(0, i).map((before) => ({ role: before.role, content: before.content })),
        completion: [{ role, content }],
      },
    ];
  });
}

function messagesOf({ response, observation }: Turn): ChatMessage[] {
  return [
    { role: 'assistant', content: response },
    { role: 'user', content: observation },
  ];
}
