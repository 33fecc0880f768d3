import { type ChatMessage, type Conversation, promptMessages } from '../history/prompt.ts';
import type { LossMessage } from '../revision/splice.ts';

/**
 * A message of a training example. Only assistant messages carry a weight: 1 is trained on, 0 is context (OpenAI fine-tuning).
 */
export type WeightedMessage = ChatMessage & { readonly weight?: 0 | 1 };

/**
 * Builds the training chat of a trajectory: the prompt of its last turn and that turn's reply, as the policy saw them, with a
 * weight per reply. The observation after the last reply is left out: nothing answers it, and fine-tuning wants the assistant to
 * speak last.
 */
export function weightedChat(conversation: Conversation, weights: readonly (0 | 1)[]): readonly WeightedMessage[] {
  const messages = promptMessages(conversation);
  if (conversation.history.length > 0) messages.pop();
  let turn = 0;
  return messages.map((message) => (message.role === 'assistant' ? { ...message, weight: weights[turn++] ?? 0 } : message));
}

/** Reads the weights of a chat as loss flags. */
export function withLoss(messages: readonly WeightedMessage[]): readonly LossMessage[] {
  return messages.map(({ role, content, weight }) =>
    weight === undefined ? { role, content } : { role, content, loss: weight === 1 },
  );
}

/** A turn of a ShareGPT conversation as AgentGym writes it: people's turns have `loss: null`. */
export interface ShareGptTurn {
  readonly from: 'human' | 'gpt';
  readonly loss: boolean | null;
  readonly value: string;
}

/**
 * Builds the AgentTraj form (Agent-R spec §4.3): the instruction as a human turn, its acknowledgement without loss, then
 * observation and reply in turn. Without an instruction the conversation begins at the first observation.
 */
export function shareGptTurns(
  conversation: Conversation,
  weights: readonly (0 | 1)[],
  acknowledgement: string,
): readonly ShareGptTurn[] {
  const turns: ShareGptTurn[] = [];
  if (conversation.instruction !== '') {
    turns.push(
      { from: 'human', loss: null, value: conversation.instruction },
      { from: 'gpt', loss: false, value: acknowledgement },
    );
  }
  let observation = conversation.firstObservation;
  for (const [i, turn] of conversation.history.entries()) {
    turns.push({ from: 'human', loss: null, value: observation }, { from: 'gpt', loss: weights[i] === 1, value: turn.response });
    observation = turn.observation;
  }
  return turns;
}
