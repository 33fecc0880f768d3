import type { LossMessage } from './splice.ts';

/**
 * A turn of xtuner's conversations. Without `output_with_loss` xtuner trains on `output`; but when `datasets` read a file in
 * which other turns have the field, a turn without has a null there, and xtuner trains on nothing of it.
 */
export interface XtunerTurn {
  readonly system?: string;
  readonly input: string;
  readonly output: string;
  readonly output_with_loss?: boolean;
}

export interface XtunerConversation {
  readonly conversation: readonly XtunerTurn[];
}

/** Finds the first reply that follows no message of the user, which xtuner has no turn for; -1 where there is none. */
export function replyWithoutUser(messages: readonly LossMessage[]): number {
  return messages.findIndex(({ role }, i) => role === 'assistant' && messages[i - 1]?.role !== 'user');
}

/**
 * Converts the messages of a row for xtuner (specification of Agent-R, §2.8): the first turn holds the system text, then every
 * reply is the output to the message before it. An observation that nothing answers is left out.
 * @param masks `keep` writes `output_with_loss` on every reply, false where it is not marked to be trained on, the
 * acknowledgement included; `drop` does as the published `rewrite()`, which trains on the bad steps too (§6 item 13).
 * @throws RangeError when a reply does not follow a user message.
 */
export function toXtuner(messages: readonly LossMessage[], masks: 'keep' | 'drop'): XtunerConversation {
  const system = messages[0]?.role === 'system' ? messages[0].content : undefined;
  const turns: XtunerTurn[] = [];
  for (const [i, message] of messages.entries()) {
    if (message.role !== 'assistant') continue;
    const input = messages[i - 1];
    if (input?.role !== 'user') throw new RangeError(`message ${i} is a reply to no user message`);
    turns.push({
      ...(turns.length === 0 && system !== undefined ? { system } : {}),
      input: input.content,
      output: message.content,
      ...(masks === 'keep' ? { output_with_loss: message.loss === true } : {}),
    });
  }
  return { conversation: turns };
}
