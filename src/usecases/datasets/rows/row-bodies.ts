import { shareGptTurns, type WeightedMessage, weightedChat, withLoss } from '../../../domain/dataset/chat.ts';
import { completionRows, preferenceRow } from '../../../domain/dataset/preference.ts';
import { promptMessages } from '../../../domain/history/prompt.ts';
import { goodRow, pairRow } from '../../../domain/revision/published-rows.ts';
import { lossMessages } from '../../../domain/revision/splice.ts';
import { toXtuner } from '../../../domain/revision/xtuner.ts';
import { DEFAULT_ACKNOWLEDGEMENT } from '../export/write-sharegpt.ts';
import type { RowFormat } from './row-options.ts';
import { openingOf, type TrainingRow } from './training-row.ts';

/** Writes an example in a format, without its metadata: one object per line of the file. `trl` writes one per trained reply. */
export function rowBodies(row: TrainingRow, format: RowFormat): readonly object[] {
  const { turns, environment, alias, instruction, firstObservation } = row;
  const weights = turns.map(({ loss }) => (loss ? 1 : 0));
  const conversation = { instruction, firstObservation, history: turns };
  switch (format.kind) {
    case 'agent-r':
      return [publishedRow(row)];
    case 'xtuner':
      return [toXtuner(lossMessages(openingOf(row), turns), 'keep')];
    case 'sharegpt': {
      if (format.context !== undefined)
        return [{ item_id: `${environment}_${alias}`, conversations: plainTurns(weightedChat(conversation, weights)) }];
      const conversations = shareGptTurns(conversation, weights, row.acknowledgement ?? DEFAULT_ACKNOWLEDGEMENT);
      return [{ item_id: `${environment}_${alias}`, conversations }];
    }
    case 'openai':
      return [{ messages: weightedChat(conversation, weights) }];
    case 'trl':
      return completionRows(withLoss(weightedChat(conversation, weights)));
    case 'dpo': {
      const opening = promptMessages({ instruction, firstObservation, history: [] });
      return row.pair === null ? [] : [preferenceRow(opening, row.pair, format.span)];
    }
    default:
      throw new TypeError(`a format without a writer: ${JSON.stringify(format.kind satisfies never)}`);
  }
}

/** Turns of a chat whose instruction is its system text: no reply in them that nobody gave. */
function plainTurns(messages: readonly WeightedMessage[]): readonly object[] {
  const from = { system: 'system', user: 'human', assistant: 'gpt' } as const;
  return messages.map(({ role, content, weight }) => ({
    from: from[role],
    loss: role === 'assistant' ? weight === 1 : null,
    value: content,
  }));
}

/**
 * The row of the published program, its `low_log` masked: a failure is never trained on (specification of Agent-R, §6 item 13).
 */
function publishedRow(row: TrainingRow): object {
  const { turns, pair, feedback, alias: taskNum } = row;
  const opening = openingOf(row);
  if (pair === null) return { ...goodRow(taskNum, opening, [], false), revise_log: lossMessages(opening, turns) };
  return pairRow({ taskNum, opening, turns, good: pair.good, bad: pair.bad, feedback, lowLog: 'masked' });
}
