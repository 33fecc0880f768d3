import { shareGptTurns, type WeightedMessage, weightedChat, withLoss } from '../../../domain/dataset/chat.ts';
import { completionRows, preferenceRow } from '../../../domain/dataset/preference.ts';
import { type PromptSource, type RowMessage, shownRows } from '../../../domain/dataset/shown-rows.ts';
import { promptMessages } from '../../../domain/history/prompt.ts';
import type { PolicyMessage } from '../../../domain/prompts/policy-prompt.ts';
import { textMessage } from '../../../domain/prompts/same-message.ts';
import { goodRow, pairRow } from '../../../domain/revision/published-rows.ts';
import { lossMessages } from '../../../domain/revision/splice.ts';
import { toXtuner } from '../../../domain/revision/xtuner.ts';
import type { RecordedPrompt } from '../../../projections/prompts/read-prompts.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ChatTokenizer } from '../export/chat-tokenizer.ts';
import { openaiMessages, partMessages, toolsColumn, toolsField, xtunerConversation } from '../export/message-forms.ts';
import { partOf, picturesNamed, type RowPart } from '../export/row-metadata.ts';
import {
  imagesColumn,
  type PictureShelf,
  picturesIn,
  refuseUnknownPrompts,
  type ShownExample,
  shownSteps,
} from '../export/shown-steps.ts';
import { tokeniseChat } from '../export/token-body.ts';
import { completionBodies, trlNotes, xtunerNotes } from '../export/write-chat.ts';
import { openaiNotes } from '../export/write-openai.ts';
import { DEFAULT_ACKNOWLEDGEMENT, isChat, shareGptNotes, shareGptRow } from '../export/write-sharegpt.ts';
import type { RowFormat } from './row-options.ts';
import { openingOf, type RowPair, type TrainingRow } from './training-row.ts';

/** A line of a file without its metadata, and what these say of its prompt. */
export interface ExampleBody {
  readonly body: object;
  readonly said: RowPart & { readonly images?: readonly object[] };
}

/** What examples are written with: pictures, and the tokenizer of a file of token ids. */
interface ExampleShelf extends PictureShelf {
  readonly tokenizer?: ChatTokenizer | undefined;
}

/**
 * Writes an example in a format: a good trajectory behind the prompts that its steps were asked with, a pair behind the prompt of
 * the step where the two part. A revision is composed: nobody was asked with it.
 * @throws DatasetError `missing-prompt`, `picture`.
 */
export async function shownBodies(row: TrainingRow, format: RowFormat, shelf: ExampleShelf): Promise<readonly ExampleBody[]> {
  const shown = row.kind === 'pair' ? await pairBodies(row, format, shelf) : await turnBodies(row, format, shelf);
  if (shown) return shown;
  refusePictures(row, format);
  refuseStructure(row);
  const source: PromptSource = 'composed';
  refuseUnknownPrompts(source, row.config, `tree ${row.source.tree} of run ${row.source.run}`, format.metadata === 'include');
  const part = { index: 0, of: 1, from: 0, to: row.turns.length };
  if (shelf.tokenizer)
    return tokeniseChat({ messages: composedChat(row), tools: null }, shelf.tokenizer, placeOf(row)).map((body) => ({
      body,
      said: { prompt: source, part },
    }));
  const said = { prompt: source, part, ...picturesNamed([], shelf.pictures) };
  return rowBodies(row, format).map((body) => ({ body: inParts(body, format, shelf), said }));
}

/**
 * Null where the trajectory has no recorded prompts and shows no picture, or the format has a shape of its own for the chat.
 */
async function turnBodies(row: TrainingRow, format: RowFormat, shelf: ExampleShelf): Promise<readonly ExampleBody[] | null> {
  const { turns, instruction, firstObservation, firstPictures, prompts } = row;
  const promptOf = (stepId: string | null) => (row.kind === 'good' ? (prompts.get(stepId ?? '') ?? null) : null);
  const steps = turns.map((turn) => ({
    ...turn,
    pictures: row.pictures.get(turn.stepId ?? '') ?? [],
    prompt: promptOf(turn.stepId),
  }));
  const recorded = row.kind === 'good' && steps.every(({ loss, prompt }) => !loss || prompt !== null);
  if (format.kind === 'agent-r' || format.kind === 'dpo' || (!recorded && !showsPicture(row))) return null;
  if (!recorded)
    refuseUnknownPrompts(
      'composed',
      row.config,
      `tree ${row.source.tree} of run ${row.source.run}`,
      format.metadata === 'include',
    );
  const weights = turns.map(({ loss }) => (loss ? 1 : 0));
  const rows = shownRows(shownSteps({ instruction, firstObservation, firstPictures, steps }, weights));
  const bodies: ExampleBody[] = [];
  for (const [index, one] of rows.entries()) {
    const path = steps.slice(0, one.to).flatMap(({ stepId: id }) => (id === null ? [] : [{ treeId: row.source.tree, id }]));
    const example: ShownExample<RowPart> = {
      row: one,
      path,
      metadata: { prompt: one.source, part: partOf(one, index, rows.length) },
    };
    if (shelf.tokenizer)
      for (const each of tokeniseChat(one, shelf.tokenizer, placeOf(row)).map((body) => ({ body, said: example.metadata })))
        bodies.push(each);
    else if (format.kind === 'trl') for (const each of await completionsOf(example, shelf)) bodies.push(each);
    else bodies.push(await bodyOf(row, example, { kind: format.kind, context: format.context }, weights, shelf));
  }
  return bodies;
}

/** The chat of an example that nobody was asked with, the weight of each reply said. */
function composedChat({ instruction, firstObservation, turns }: TrainingRow): readonly RowMessage[] {
  const weights = turns.map(({ loss }) => (loss ? 1 : 0));
  return weightedChat({ instruction, firstObservation, history: turns }, weights).map(({ role, content, weight }) => ({
    ...textMessage(role, content),
    ...(weight === undefined ? {} : { weight }),
  }));
}

function placeOf({ source }: Pick<TrainingRow, 'source'>): string {
  return `tree ${source.tree}`;
}

/** Whether a reply of a trajectory comes behind a picture. */
function showsPicture({ turns, firstPictures, pictures }: TrainingRow): boolean {
  return firstPictures.length > 0 || turns.slice(0, -1).some(({ stepId }) => stepId !== null && pictures.has(stepId));
}

/** @throws DatasetError `picture`: a composed example of texts alone would leave out what its replies were given to. */
function refusePictures(row: TrainingRow, { kind }: RowFormat): void {
  if (!showsPicture(row)) return;
  const when = kind === 'dpo' ? ' where prompts are not recorded' : '';
  throw new DatasetError(
    'picture',
    `tree ${row.source.tree} of run ${row.source.run} shows pictures, which rows of ${kind} have no place for${when}; export --format openai, trl or sharegpt, or leave the run out by a filter`,
  );
}

/** @throws DatasetError `structure`: a composed example of texts would leave out what its replies call. */
function refuseStructure({ turns, pair, source }: TrainingRow): void {
  const isPlain = ({ message }: { readonly message?: PolicyMessage }) => message === undefined;
  if (turns.every(isPlain) && (pair?.good ?? []).every(isPlain) && (pair?.bad ?? []).every(isPlain)) return;
  throw new DatasetError(
    'structure',
    `tree ${source.tree} of run ${source.run} has replies that call tools or hold reasoning, and no recorded prompt that they follow: an example composed of texts would leave that out; leave the run out by a filter`,
  );
}

async function completionsOf(example: ShownExample, shelf: PictureShelf): Promise<readonly ExampleBody[]> {
  const bodies = (await completionBodies(example, true, shelf)) as readonly { readonly metadata: ExampleBody['said'] }[]; // they have it: `true`
  return bodies.map(({ metadata: said, ...body }) => ({ body, said }));
}

async function bodyOf(
  { instruction, firstObservation, turns, environment, alias, acknowledgement, source }: TrainingRow,
  { row, path, metadata }: ShownExample<RowPart>,
  { kind, context }: { readonly kind: 'openai' | 'xtuner' | 'sharegpt'; readonly context: RowFormat['context'] },
  weights: readonly (0 | 1)[],
  shelf: PictureShelf,
): Promise<ExampleBody> {
  const place = placeOf({ source });
  if (kind === 'xtuner') return { body: xtunerConversation(row.messages, place), said: metadata };
  const pictures = await picturesIn(row.messages, path, shelf);
  const said = { ...metadata, ...picturesNamed(pictures, shelf.pictures) };
  if (kind === 'openai')
    return { body: { messages: openaiMessages(row.messages, pictures, shelf.pictures.any), ...toolsField(row.tools) }, said };
  const chat = { instruction, firstObservation, history: turns };
  const conversations =
    context === undefined && isChat(row, chat)
      ? shareGptTurns(chat, weights, acknowledgement ?? DEFAULT_ACKNOWLEDGEMENT)
      : shareGptRow(row, place, shelf.pictures.any);
  return {
    body: {
      item_id: `${environment}_${alias}`,
      conversations,
      ...toolsColumn(row.tools),
      ...(await imagesColumn(pictures, shelf)),
    },
    said,
  };
}

/** Null where the prompt at which the two part is not recorded. */
async function pairBodies(
  { pair, prompts, source }: TrainingRow,
  { span }: RowFormat,
  shelf: PictureShelf,
): Promise<readonly ExampleBody[] | null> {
  if (!pair) return null;
  const { good, bad, branch } = pair;
  const [asked, other] = [good, bad].map((steps) => prompts.get(steps[branch]?.stepId ?? ''));
  if (!asked || !other) return null;
  if (asked.sha256 !== other.sha256)
    throw new DatasetError(
      'conflict',
      `tree ${source.tree}: steps ${asked.stepId} and ${other.stepId} follow the same step and were asked with two prompts, so their replies are no pair; leave the tree out by a filter`,
    );
  const path = good.slice(0, branch + 1).map(({ stepId: id }) => ({ treeId: source.tree, id }));
  const pictures = await picturesIn(asked.messages, path, shelf);
  const behind = (steps: RowPair['good']) => partMessages(repliesOf(steps.slice(branch), prompts, span), shelf.pictures.any);
  const body = {
    prompt: partMessages(asked.messages, shelf.pictures.any),
    chosen: behind(good),
    rejected: behind(bad),
    ...toolsColumn(asked.tools),
    ...(await imagesColumn(pictures, shelf)),
  };
  const part = { index: 0, of: 1, from: 0, to: good.length };
  return [{ body, said: { prompt: 'recorded', part, ...picturesNamed(pictures, shelf.pictures) } }];
}

/**
 * What follows a prompt. @throws DatasetError `missing-prompt` where the replies of a trajectory were not asked for in one chat.
 */
function repliesOf(steps: RowPair['good'], prompts: ReadonlyMap<string, RecordedPrompt>, span: RowFormat['span']) {
  const [first] = steps;
  const messageOf = (step: RowPair['good'][number] | undefined) =>
    step?.message ?? textMessage('assistant', step?.response ?? '');
  if (span === 'reply') return [messageOf(first)];
  const shown = steps.map((step) => {
    const { stepId } = step;
    const prompt = prompts.get(stepId);
    return {
      prompt: prompt?.messages ?? [],
      reply: messageOf(step),
      weight: 1,
      tools: prompt?.tools ?? null,
      source: prompt ? 'recorded' : 'composed',
    } as const;
  });
  const [row, ...others] = shownRows(shown);
  if (!row || others.length > 0)
    throw new DatasetError(
      'missing-prompt',
      `behind step ${first?.stepId} the prompts of a trajectory do not continue each other, so it is no one chat; export --span reply`,
    );
  return row.messages.slice(row.opening);
}

/** Puts the messages of a composed example in the form that the file has, where other rows of it show pictures. */
export function inParts(body: object, { kind }: RowFormat, { pictures }: PictureShelf): object {
  if (!pictures.any || kind === 'xtuner' || kind === 'agent-r') return body;
  const entries = Object.entries(body).map(([name, value]) => [name, isChatOf(value) ? value.map(asParts) : value]);
  return { ...Object.fromEntries(entries), ...(kind === 'openai' ? {} : { images: [] }) };
}

interface TextMessage {
  readonly role: string;
  readonly content: string;
}

function isChatOf(value: unknown): value is readonly TextMessage[] {
  return (
    Array.isArray(value) && value.every((message) => typeof message === 'object' && message !== null && 'content' in message)
  );
}

function asParts({ role, content, ...said }: TextMessage): object {
  return { role, content: [{ type: 'text', text: content }], ...said };
}

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

/** Describes which reader trains on what of a file of mined examples. */
export function rowFormatNotes(format: RowFormat): readonly string[] {
  switch (format.kind) {
    case 'openai':
      return openaiNotes(format);
    case 'sharegpt':
      return shareGptNotes(format);
    case 'trl':
      return trlNotes(format);
    case 'xtuner':
      return xtunerNotes();
    case 'dpo':
      return ['note: TRL (DPOTrainer) compares `chosen` with `rejected`, every token of both'];
    case 'agent-r':
      return ['note: the published program of Agent-R reads this file: `revise_log`, replies with `loss` true'];
    default:
      return format.kind satisfies never;
  }
}
