import { type ShareGptTurn, shareGptTurns } from '../../../domain/dataset/chat.ts';
import type { RowMessage, ShownRow } from '../../../domain/dataset/shown-rows.ts';
import { turnWeights, type WeightRule } from '../../../domain/dataset/turn-weights.ts';
import { promptMessages } from '../../../domain/history/prompt.ts';
import { sharedMessages, textMessage } from '../../../domain/prompts/same-message.ts';
import { callsOf, reasoningOf } from '../../../domain/prompts/served-message.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import { contextOf, type FormatEntry } from './format.ts';
import { float, jsonText } from './json-line.ts';
import { argumentsValue, markedText, toolsColumn } from './message-forms.ts';
import { picturesNamed } from './row-metadata.ts';
import { imagesColumn, type PictureShelf, picturesIn, shownExamples } from './shown-steps.ts';
import type { ContextRule } from './without-context.ts';
import { writePlain } from './write-trajectories.ts';

/** One AgentTraj item per line: `item_id`, `conversations` with loss flags, `reward`. */
export interface ShareGptFormat {
  readonly kind: 'sharegpt';
  readonly weights: WeightRule;
  /** What becomes of replies that are context; left out, they stay with `loss: false`, as AgentGym reads them. */
  readonly context?: Exclude<ContextRule, 'keep'>;
}

/** What Agent-R answers to every instruction where a run does not say otherwise (Agent-R spec §4.3). */
export const DEFAULT_ACKNOWLEDGEMENT = 'Ok.';

/**
 * Writes a trajectory in the shape of AgentGym's AgentTraj items: a line, or several where its prompts do not continue each
 * other. None for a trajectory without a step.
 */
export async function shareGptBodies(
  trajectory: ExportTrajectory,
  format: ShareGptFormat,
  shelf: PictureShelf,
): Promise<readonly object[]> {
  const { head, root, steps, rollout, returnValue, config } = trajectory;
  const weights = turnWeights(steps, rollout, format.weights);
  const chat = { instruction: head.instruction, firstObservation: root.observation, history: steps };
  const bodies: object[] = [];
  for (const { row, path, metadata } of shownExamples(trajectory, { from: 0, weights, says: true })) {
    const pictures = await picturesIn(row.messages, path, shelf);
    bodies.push({
      // success is `metadata.result`: an item has no word for one that nobody said, and a null there has no type
      item_id: `${head.environment}_${head.alias}`,
      conversations:
        format.context === undefined && isChat(row, chat)
          ? shareGptTurns(chat, weights, acknowledgementIn(config))
          : shareGptRow(row, `trajectory ${rollout.rolloutId}`, shelf.pictures.any),
      ...toolsColumn(row.tools),
      ...(await imagesColumn(pictures, shelf)),
      ...(returnValue === null ? {} : { reward: float(returnValue) }),
      metadata: { ...metadata, ...picturesNamed(pictures, shelf.pictures) },
    });
  }
  return bodies;
}

/** A turn of a prompt that is not the environment's chat: it may have a system text. */
type PromptTurn = Omit<ShareGptTurn, 'from'> & {
  readonly from: ShareGptTurn['from'] | 'system' | 'function_call' | 'observation';
};

/**
 * Writes a row turn by turn, `<image>` for each of its pictures; calls of tools and reasoning as LLaMA-Factory reads them.
 * @throws DatasetError `structure`, `picture`.
 */
export function shareGptRow({ messages }: ShownRow, place: string, withPictures: boolean): readonly PromptTurn[] {
  const turns = messages.map((message): PromptTurn => {
    const value = markedText(message, place, withPictures);
    switch (message.role) {
      case 'assistant':
        return {
          from: isCall(message) ? 'function_call' : 'gpt',
          loss: message.weight === 1,
          value: replyValue(message, value, place),
        };
      case 'tool':
        return { from: 'observation', loss: null, value };
      case 'system':
        return { from: 'system', loss: null, value };
      case 'user':
        return { from: 'human', loss: null, value };
      default:
        return message.role satisfies never;
    }
  });
  const second = turns.findIndex(({ from }, i) => from === 'observation' && turns[i - 1]?.from === 'observation');
  if (second >= 0)
    throw new DatasetError(
      'structure',
      `${place}: message ${second} is the result of a tool behind another one, and readers of this format take one between two replies; export --format openai or trl, or leave the run out by a filter`,
    );
  const late = turns.findIndex(({ from }, i) => from === 'system' && i > 0);
  if (late >= 0)
    throw new DatasetError(
      'structure',
      `${place}: message ${late} of the system is not the first one, and readers of this format take one at the beginning; export --format openai or trl, or leave the run out by a filter`,
    );
  return turns;
}

function isCall(message: RowMessage): boolean {
  return callsOf(message).length > 0;
}

function replyValue(message: RowMessage, text: string, place: string): string {
  const reasoning = reasoningOf(message);
  const thought = reasoning === '' ? '' : `<think>\n${reasoning}\n</think>\n\n`;
  const calls = callsOf(message);
  if (calls.length === 0) return `${thought}${text}`;
  if (text !== '')
    throw new DatasetError(
      'structure',
      `${place}: a reply calls a tool and says something besides, for which a turn of this format has no place; export --format openai or trl, or leave the run out by a filter`,
    );
  const written = calls.map(({ name, arguments: given }) => jsonText({ name, arguments: argumentsValue(given) }));
  const [only, ...others] = written;
  return `${thought}${others.length === 0 ? only : `[${written.join(', ')}]`}`;
}

/** Returns whether a row is the whole chat of the environment, which has a form of its own (an instruction that is answered). */
export function isChat({ messages }: Pick<ShownRow, 'messages'>, chat: Parameters<typeof promptMessages>[0]): boolean {
  const whole = promptMessages(chat)
    .slice(0, -1)
    .map(({ role, content }) => textMessage(role, content));
  return whole.length === messages.length && sharedMessages(whole, messages) === whole.length;
}

/** Finds the acknowledgement that an imported run remembers of its source: `config.acknowledgement`, one text for the run. */
export function acknowledgementIn(config: unknown): string {
  if (typeof config === 'object' && config !== null && 'acknowledgement' in config && typeof config.acknowledgement === 'string')
    return config.acknowledgement;
  return DEFAULT_ACKNOWLEDGEMENT;
}

export const shareGptFormat: FormatEntry<ShareGptFormat> = {
  kind: 'sharegpt',
  version: 6,
  container: 'lines',
  options: ({ weights, ...given }) => ({ weights, ...contextOf(given) }),
  notes: shareGptNotes,
  write: (job) => writePlain(job, (trajectory) => shareGptBodies(trajectory, job.format, job)),
};

export function shareGptNotes({ context }: Pick<ShareGptFormat, 'context'>): readonly string[] {
  return context === undefined
    ? [
        'note: AgentGym reads `loss`; LLaMA-Factory and FastChat ignore it and train on every reply. For those: leave out --context keep',
      ]
    : [
        'note: every `gpt` turn in this file is trained on: LLaMA-Factory (formatting: sharegpt), FastChat and AgentGym read it alike',
      ];
}
