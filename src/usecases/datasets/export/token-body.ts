import { pictureIds, type ShownMessage } from '../../../domain/dataset/shown-rows.ts';
import { type TokenStep, trajectoryRows } from '../../../domain/training/rows/trajectory-rows.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ChatTokenizer } from './chat-tokenizer.ts';
import { sampledAll } from './verl-rows.ts';

const IGNORED = -100; // the label that torch's cross entropy leaves out

/**
 * A row of token ids for supervised trainers: `loss_mask` 1 on the tokens of replies that are trained on, `labels` their ids and
 * -100 elsewhere, `position_ids` from 0.
 */
export interface TokenBody {
  readonly input_ids: readonly number[];
  readonly labels: readonly number[];
  readonly loss_mask: readonly number[];
  readonly position_ids: readonly number[];
  /** `retokenised` where ids of it were made by a tokenizer. */
  readonly tokenised: 'recorded' | 'retokenised';
}

/** Writes a row of ids. @param mask one for each id: 1 where it is trained on. */
export function tokenBody(ids: readonly number[], mask: readonly number[], tokenised: TokenBody['tokenised']): TokenBody {
  return {
    input_ids: ids,
    labels: ids.map((id, i) => (mask[i] === 1 ? id : IGNORED)),
    loss_mask: mask,
    position_ids: ids.map((_, i) => i),
    tokenised,
  };
}

/**
 * Tokenises a conversation without pictures: one row with the masks of every reply, or one per cut where the chat template does not
 * continue what it wrote before. None where no reply is trained on. @throws DatasetError `picture`, `missing-tokens`.
 */
export function tokeniseChat(
  { messages, tools }: { readonly messages: readonly ShownMessage[]; readonly tools: string | null },
  tokenizer: ChatTokenizer,
  place: string,
): readonly TokenBody[] {
  refusePicturesIn(messages, place);
  const replies = [...messages.entries()].filter(([, { role }]) => role === 'assistant');
  const trained = replies.map(([, { weight }]) => weight === 1);
  const from = trained.indexOf(true);
  if (from < 0) return [];
  const steps = replies.slice(from, trained.lastIndexOf(true) + 1).map(([at, message]): TokenStep => {
    const chat = { messages: messages.slice(0, at), tools };
    return {
      promptIds: Int32Array.from(tokenizer.prompt(chat, place)),
      tokens: sampledAll(tokenizer.reply(chat, message, place)),
      spans: [],
      reward: 0,
    };
  });
  const laid = trajectoryRows(steps, 0);
  if (laid.kind === 'missing') throw new DatasetError('missing-tokens', `${place}: a reply has no token to train on`);
  return laid.rows.flatMap((row) => {
    const opening = Array.from(row.promptIds ?? []);
    const mask = Array.from(row.mask, (m, i) => (m === 1 && trained[from + (row.steps[i] ?? 0)] ? 1 : 0));
    if (!mask.includes(1)) return [];
    return [tokenBody([...opening, ...row.ids], [...opening.map(() => 0), ...mask], 'retokenised')];
  });
}

/** @throws DatasetError `picture`: a tokenizer of texts has no ids of one. */
export function refusePicturesIn(messages: readonly ShownMessage[], place: string): void {
  if (pictureIds(messages).length === 0) return;
  throw new DatasetError(
    'picture',
    `${place} was asked with a picture, which rows of token ids have no place for; leave out --tokenizer, or leave the run out by a filter`,
  );
}
