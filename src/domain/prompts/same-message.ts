import type { PolicyMessage, PolicyMessagePart, ToolCallPart } from './policy-prompt.ts';

/** Returns whether two messages are the same: role, and texts, pictures, reasoning and calls of tools in order. */
function sameMessage(a: PolicyMessage | undefined, b: PolicyMessage | undefined): boolean {
  return sameBy(a, b, (one, other) => one === other);
}

/**
 * Returns whether a message is another one that a program sent back: the arguments of its calls are the same JSON, which programs
 * write again.
 */
export function repeatsMessage(a: PolicyMessage | undefined, b: PolicyMessage | undefined): boolean {
  return sameBy(a, b, (one, other) => one === other || argumentsKey(one) === argumentsKey(other));
}

type SameArguments = (one: string, other: string) => boolean;

function sameBy(a: PolicyMessage | undefined, b: PolicyMessage | undefined, sameArguments: SameArguments): boolean {
  if (a === b) return true;
  if (!a || !b || a.role !== b.role || a.toolCallId !== b.toolCallId || a.name !== b.name) return false;
  return a.parts.length === b.parts.length && a.parts.every((part, i) => samePart(part, b.parts[i], sameArguments));
}

function samePart(part: PolicyMessagePart, other: PolicyMessagePart | undefined, sameArguments: SameArguments): boolean {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return other?.kind === part.kind && other.text === part.text;
    case 'image':
      return other?.kind === 'image' && other.imageId === part.imageId;
    case 'tool-call':
      return (
        other?.kind === 'tool-call' &&
        other.id === part.id &&
        other.name === part.name &&
        sameArguments(other.arguments, part.arguments)
      );
    default:
      return part satisfies never;
  }
}

/** Counts the messages with which both begin. */
export function sharedMessages(a: readonly PolicyMessage[], b: readonly PolicyMessage[], same = sameMessage): number {
  let shared = 0;
  while (shared < a.length && shared < b.length && same(a[shared], b[shared])) shared++;
  return shared;
}

/** Makes a message that is one text. */
export function textMessage(role: PolicyMessage['role'], text: string): PolicyMessage {
  return { role, parts: [{ kind: 'text', text }] };
}

/** Returns the texts of a message, joined. */
export function messageText({ parts }: Pick<PolicyMessage, 'parts'>): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

/** Whether a message is more than texts and pictures: it calls tools, is the result of one, holds reasoning, or has a name. */
export function isStructured({ role, parts, name }: MessageForm): boolean {
  return role === 'tool' || name !== undefined || parts.some(({ kind }) => kind === 'reasoning' || kind === 'tool-call');
}

/** What is asked of a message to know whether it is structured; of one on record too, whose texts are elsewhere. */
interface MessageForm {
  readonly role: PolicyMessage['role'];
  readonly parts: readonly { readonly kind: string }[];
  readonly name?: string | undefined;
}

/**
 * Returns what two arguments of a call of a tool are compared by: programs write JSON again, with other blanks and another order
 * of fields, and an empty text for an empty object. Numbers are compared by their value, as large as they are.
 */
export function argumentsKey(text: string): string {
  if (text.trim() === '') return '{}';
  try {
    JSON.parse(text);
    return JSON.stringify(sorted(JSON.parse(text.replace(STRING_OR_NUMBER, exactly))));
  } catch {
    return text.trim(); // what the model wrote is no JSON
  }
}

const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Writes a number of a JSON text that doubles round, or do not reach, as a string of its digits that no other text gives. */
function exactly(token: string): string {
  if (token.startsWith('"') || Math.abs(Number(token)) <= Number.MAX_SAFE_INTEGER) return token;
  const [, sign = '', whole = '', fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  const exponent = BigInt(power) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return JSON.stringify(`\0${sign}${significant}e${exponent}`);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [name, sorted(each)]),
  );
}

/** What a reply is besides its text: reasoning that came apart from it, and calls of tools. */
export interface ReplyStructure {
  /** Whether the thought of the step is reasoning that is no part of the text of the reply. */
  readonly reasoning: boolean;
  readonly toolCalls: readonly Omit<ToolCallPart, 'kind'>[];
}

/** A step, as far as its reply is a message. */
interface StepReply {
  readonly response: string;
  readonly thought: string;
  /** Null where the reply is its text. */
  readonly reply: ReplyStructure | null;
}

/** Returns the reply of a step as a message: reasoning, text, calls of tools. */
export function replyMessage({ response, thought, reply }: StepReply): PolicyMessage {
  if (reply === null) return textMessage('assistant', response);
  return {
    role: 'assistant',
    parts: [
      ...(reply.reasoning ? [{ kind: 'reasoning' as const, text: thought }] : []),
      ...(response === '' ? [] : [{ kind: 'text' as const, text: response }]),
      ...reply.toolCalls.map((call) => ({ kind: 'tool-call' as const, ...call })),
    ],
  };
}

/**
 * Counts the tokens with which two sequences begin alike. Where it is less than the length of `before` (a prompt and the reply to
 * it), the server tokenised the same text in another way: re-tokenisation drift.
 */
export function sharedTokens(before: ArrayLike<number>, tokens: ArrayLike<number>): number {
  let shared = 0;
  while (shared < before.length && shared < tokens.length && before[shared] === tokens[shared]) shared++;
  return shared;
}

const SHORTEST = 160; // characters: a reference takes 67, so a shorter block costs more to name than to repeat
const MOST = 64; // blocks of one text: a long text is cut coarser

/**
 * Cuts a text into blocks that are joined without a separator, each ending at a line end. Where a text repeats lines of an
 * earlier one, most blocks come out equal: a block ends behind the first line end at which it has the shortest length, whatever
 * follows. An empty text has no blocks.
 */
export function cutBlocks(text: string): readonly string[] {
  const shortest = Math.max(SHORTEST, Math.ceil(text.length / MOST));
  const blocks: string[] = [];
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from + shortest - 1);
    const to = end === -1 ? text.length : end + 1;
    blocks.push(text.slice(from, to));
    from = to;
  }
  return blocks;
}
