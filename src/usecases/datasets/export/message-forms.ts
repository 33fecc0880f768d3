import { pictureIds, type RowMessage } from '../../../domain/dataset/shown-rows.ts';
import type { PolicyMessage, PolicyMessagePart } from '../../../domain/prompts/policy-prompt.ts';
import { isStructured, messageText } from '../../../domain/prompts/same-message.ts';
import { chatTools, structureOf } from '../../../domain/prompts/served-message.ts';
import type { LossMessage } from '../../../domain/revision/splice.ts';
import { replyWithoutUser, toXtuner, type XtunerConversation } from '../../../domain/revision/xtuner.ts';
import type { Picture } from '../../../projections/images/draw-picture.ts';
import { DatasetError } from '../dataset-error.ts';
import { RawJson } from './json-line.ts';

/**
 * Writes messages as OpenAI's fine-tuning takes them: a text as a string, a picture inside as a data URL. Where a file has
 * pictures anywhere, every content is a list of parts, since a column has one type.
 */
export function openaiMessages(
  messages: readonly RowMessage[],
  pictures: readonly Picture[],
  withPictures: boolean,
): readonly object[] {
  const urls = new Map(
    pictures.map(({ id, png }) => [id, `data:image/png;base64,${Buffer.from(png).toString('base64')}`] as const),
  );
  return messages.map((message) => {
    const { role, weight } = message;
    const content = !withPictures
      ? messageText(message)
      : contentOf(message).map((part) =>
          part.kind === 'text'
            ? { type: 'text', text: part.text }
            : { type: 'image_url', image_url: { url: urls.get(part.imageId) } },
        );
    return { role, content, ...structureOf(message, (text) => text), ...(weight === undefined ? {} : { weight }) };
  });
}

/**
 * Writes messages as transformers and TRL take them. Where a file has pictures anywhere, every content is a list of parts, since
 * a column has one type; the pictures themselves are in the column `images`.
 */
export function partMessages(messages: readonly PolicyMessage[], withPictures: boolean): readonly object[] {
  return messages.map((message) => ({
    role: message.role,
    content: withPictures
      ? contentOf(message).map((part) => (part.kind === 'text' ? { type: 'text', text: part.text } : { type: 'image' }))
      : messageText(message),
    ...structureOf(message, argumentsValue),
  }));
}

/** Returns arguments as the object that they are JSON of, empty ones as an empty object; what is none stays a text. */
export function argumentsValue(text: string): RawJson | string {
  if (text.trim() === '') return new RawJson('{}');
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? new RawJson(text) : text;
  } catch {
    return text; // as the model wrote them
  }
}

/** Writes the tools that a row was offered as chat servers take them: the column `tools` of OpenAI's fine-tuning. */
export function toolsField(tools: string | null): { readonly tools?: RawJson } {
  return tools === null ? {} : { tools: new RawJson(chatTools(tools)) };
}

/** Writes them as one text of JSON, which TRL and LLaMA-Factory read: schemas have no common type of a column. */
export function toolsColumn(tools: string | null): { readonly tools?: string } {
  return tools === null ? {} : { tools: chatTools(tools) };
}

/** Returns the texts and pictures of a message, in order. */
export function contentOf({ parts }: PolicyMessage): readonly Extract<PolicyMessagePart, { kind: 'text' | 'image' }>[] {
  return parts.filter((part) => part.kind === 'text' || part.kind === 'image');
}

/** Writes messages with a loss flag per reply. @throws DatasetError `picture`: there is no place for one. */
export function lossMessages(messages: readonly RowMessage[], place: string): readonly LossMessage[] {
  if (pictureIds(messages).length > 0)
    throw new DatasetError(
      'picture',
      `${place} was asked with a picture, which this format has no place for; export --format trl, openai, sharegpt or verl --layout step, or leave the run out by a filter`,
    );
  if (messages.some(isStructured))
    throw new DatasetError(
      'structure',
      `${place} calls tools or holds reasoning, which this format has no place for; export --format openai, trl or atif, or leave the run out by a filter`,
    );
  return messages.map(({ role, parts, weight }) => {
    const message = { role: role === 'tool' ? ('user' as const) : role, content: messageText({ parts }) };
    return weight === undefined ? message : { ...message, loss: weight === 1 };
  });
}

/** Writes messages as xtuner takes them. @throws DatasetError `picture`, `no-turn`: there is no place for it. */
export function xtunerConversation(shown: readonly RowMessage[], place: string): XtunerConversation {
  const messages = lossMessages(shown, place);
  const late = messages.findIndex(({ role }, i) => role === 'system' && i > 0);
  if (late >= 0)
    throw new DatasetError(
      'no-turn',
      `${place}: message ${late} of its prompt, of the system, is not the first one, and xtuner has a place for that alone; export --format openai or trl, or leave the run out by a filter`,
    );
  const reply = replyWithoutUser(messages);
  if (reply >= 0)
    throw new DatasetError(
      'no-turn',
      `${place}: message ${reply} of its prompt is a reply that follows no message of the user, and xtuner has turns of a message and its reply alone; export --format openai or trl, or leave the run out by a filter`,
    );
  return toXtuner(messages, 'keep');
}

const MARK = '<image>';
const READ_AS_MEDIA = /<(?:image|video|audio)>/; // what verl and LLaMA-Factory cut texts at

/**
 * Writes a message as one text in which `<image>` stands for each picture. @throws DatasetError `picture` where a text holds such
 * a mark itself, which a reader would take for a picture.
 */
export function markedText(message: PolicyMessage, place: string, withPictures: boolean): string {
  return contentOf(message)
    .map((part) => {
      if (part.kind === 'image') return MARK;
      const mark = withPictures ? READ_AS_MEDIA.exec(part.text) : null;
      if (!mark) return part.text;
      throw new DatasetError(
        'picture',
        `${place}: a text of its prompt holds ${mark[0]}, which readers of this format take for a picture; export --format trl or openai, or leave the run out by a filter`,
      );
    })
    .join('');
}

/** Writes messages as verl takes them: a text of content, with a mark for each picture, and arguments of calls as a text. */
export function verlMessages(messages: readonly PolicyMessage[], place: string, withPictures: boolean): readonly object[] {
  return messages.map((message) => ({
    role: message.role,
    content: markedText(message, place, withPictures),
    ...structureOf(message, (text) => text),
  }));
}

/** Writes the tools that a step was offered as a text of JSON; null for none. */
export function verlTools(step: { readonly tools: string | null } | undefined): string | null {
  return step?.tools ? chatTools(step.tools) : null;
}
