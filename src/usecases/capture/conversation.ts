import { sha256Hex } from '../../digest/sha256.ts';
import { type CalledTool, type CallMessage, type CallPart, keyOf } from '../../domain/capture/call-message.ts';
import type { CallState, MessageLinks, PlacedCall, UnclearPlace } from '../../domain/capture/place-call.ts';
import type { PolicyMessage, PolicyMessagePart } from '../../domain/prompts/policy-prompt.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { canonicalJson } from '../../events/canonical-json.ts';
import type { PolicyRef } from '../../events/schemas/values.ts';
import { PICTURE_LIMITS, type Picture, PictureRefused, readPictures } from '../../images/observation-pictures.ts';
import type { ModelCall } from '../../projections/prompts/read-prompts.ts';
import { openCache } from '../../runtime/cache.ts';
import type { ReadChoice } from './read-reply.ts';
import type { Api } from './read-request.ts';

const EMPTY = sha256Hex('conversation');

/** Returns the digests of the first 0, 1, … messages of a conversation; those of the system are no part of it. */
export function prefixesOf(messages: readonly CallMessage[]): readonly string[] {
  const digests = [EMPTY];
  for (const message of spoken(messages)) digests.push(withMessage(digests.at(-1) ?? EMPTY, message));
  return digests;
}

/** Returns the digest of a conversation with one more message. */
export function withMessage(conversation: string, message: CallMessage): string {
  return sha256Hex(conversation, canonicalJson(keyOf(message)));
}

/** Returns the messages of a conversation without those of the system. */
export function spoken(messages: readonly CallMessage[]): readonly CallMessage[] {
  return messages.filter(({ role }) => role !== 'system');
}

/** Returns the ids of the calls of tools in a message. */
export function toolCallIdsOf({ toolCalls }: CallMessage): readonly string[] {
  return toolCalls.flatMap(({ id }) => (id ? [id] : []));
}

/** Returns what a message of a request is linked to calls by. */
export function linksOf(message: CallMessage): MessageLinks {
  return {
    calls: toolCallIdsOf(message),
    answers: message.role === 'tool' ? message.toolCallId : null,
    reply: message.role === 'assistant' ? digestOf(message) : null,
  };
}

/** Returns the digest of a message, whatever is before it. */
export function digestOf(message: CallMessage): string {
  return withMessage(EMPTY, message);
}

/** A choice of a reply, and the conversation with it. */
export interface CallChoice extends ReadChoice {
  readonly conversation: string;
  readonly reply: string;
  readonly callsTools: boolean;
  readonly toolCallIds: readonly string[];
}

/** A call of a captured rollout. It changes from in flight to answered or unanswered, and from answered to recorded as a step. */
export interface Call extends PlacedCall {
  readonly callId: string;
  readonly ordinal: number;
  /** The step that its reply becomes. */
  readonly stepId: string;
  /** Of that step. */
  readonly depth: number;
  place: 'path' | 'branch';
  readonly unclear: UnclearPlace | null;
  state: CallState;
  readonly prompt: string;
  choices: readonly CallChoice[];
  readonly source: 'proxy' | 'trace' | 'client';
  readonly api: Api | 'embeddings';
  /** Who answers. */
  readonly policy: PolicyRef;
  answered: ModelCall | null;
  responseId: string | null;
  /** Whether the first message of its prompt is one that no response carries over which continues it. */
  readonly hasInstructions: boolean;
  /** What of it could not be read; of its request where it begins so. */
  losses: readonly string[];
  policyMs: number;
  /** When its reply had come, ms since 1970; null until then. */
  answeredAt: number | null;
}

/** How a tool ran, as a span says. */
export interface ToolSpan {
  /** Of the call in the reply; null where nobody says it. */
  readonly callId: string | null;
  readonly name: string;
  readonly output: string;
  readonly outcome: 'ok' | 'error';
  readonly durationMs: number;
}

/** Finds the run of each call of a tool: by its id, else the first one of that name, each for one call. */
export function toolRuns(called: readonly CalledTool[], spans: readonly ToolSpan[]): readonly (ToolSpan | undefined)[] {
  const left = new Set(spans);
  const byId = called.map(({ id }) => take((span) => id !== null && span.callId === id));
  return called.map(({ name }, i) => byId[i] ?? take((span) => span.callId === null && span.name === name));

  function take(fits: (span: ToolSpan) => boolean): ToolSpan | undefined {
    const found = [...left].find(fits);
    if (found) left.delete(found);
    return found;
  }
}

/** Pictures of a request, and the ids of those that the record holds. */
interface HeldPictures {
  readonly shown: PromptPictures;
  readonly held: ReadonlySet<string>;
}

/** Names and ids of the tools of programs are cut at that: some servers carry a signature in an id. */
export const LONGEST_TOOL_NAME = 10_000;

/** Returns the messages of a call as prompts are recorded. */
export function promptMessagesOf(messages: readonly CallMessage[], pictures: HeldPictures): readonly PolicyMessage[] {
  return messages.map(
    ({ role, parts, reasoning, toolCalls, toolCallId, name }): PolicyMessage => ({
      role,
      parts: [
        ...(reasoning === '' ? [] : [{ kind: 'reasoning' as const, text: reasoning }]),
        ...parts.flatMap((part) => askedPart(part, pictures)),
        ...toolCalls.map(({ id, name: tool, arguments: given }) => ({
          kind: 'tool-call' as const,
          id: id === null ? null : cutText(id, LONGEST_TOOL_NAME),
          name: cutText(tool, LONGEST_TOOL_NAME),
          arguments: given,
        })),
      ],
      ...(toolCallId === null ? {} : { toolCallId: cutText(toolCallId, LONGEST_TOOL_NAME) }),
      ...(name === null ? {} : { name: cutText(name, LONGEST_TOOL_NAME) }),
    }),
  );
}

function askedPart(part: CallPart, { shown, held }: HeldPictures): readonly PolicyMessagePart[] {
  if (part.kind === 'text') return [{ kind: 'text', text: part.text }];
  const read = shown.get(part.url);
  // another one is a loss of the call: the model was shown no text in its place
  return read && 'png' in read && held.has(read.imageId) ? [{ kind: 'image', imageId: read.imageId }] : [];
}

/** Names the pictures of a request that its recorded prompt lacks, and why. */
export function lostPictures(pictures: PromptPictures, recorded: ReadonlySet<string>): readonly string[] {
  const { held } = otherPictures(pictures, recorded);
  return [...pictures].flatMap(([url, read]) => {
    if ('png' in read && held.has(read.imageId)) return [];
    const named = /^data:[^;,]{0,100}/.exec(url)?.[0] ?? cutText(url, 300);
    return `the picture ${named} is not recorded: ${'unread' in read ? read.unread : 'one call records no more pictures'}`;
  });
}

/** A picture of a request as it is recorded: read, or why it is not. */
export type PromptPicture = Picture | { readonly unread: string };

/** The pictures of a request, by what the program sent: a data URL or an address. */
export type PromptPictures = ReadonlyMap<string, PromptPicture>;

/** What a request shows: its messages, and their pictures. */
export interface ShownRequest {
  readonly messages: readonly CallMessage[];
  readonly pictures: PromptPictures;
}

export type PictureReader = (messages: readonly CallMessage[]) => Promise<PromptPictures>;

const CACHED_BYTES = 64 * 1_048_576; // a program sends the pictures of its whole conversation with each call

/** Opens the reading of pictures that programs show to models. An address is not fetched: it may hold another picture by now. */
export function openPictureReader(): PictureReader {
  const cache = openCache<{ readonly shown: PromptPicture }>({
    maxSize: CACHED_BYTES,
    sizeCalculation: ({ shown }) => 500 + ('png' in shown ? shown.png.length : 0),
  });
  return async (messages) => {
    const found = new Map<string, PromptPicture>();
    for (const { parts } of messages)
      for (const part of parts) {
        if (part.kind !== 'picture' || found.has(part.url)) continue;
        const key = sha256Hex(part.url);
        const shown = cache.get(key)?.shown ?? (await read(part.url));
        cache.set(key, { shown });
        found.set(part.url, shown);
      }
    return found;
  };
}

async function read(url: string): Promise<PromptPicture> {
  if (!url.startsWith('data:')) return { unread: 'an address, which is not fetched: send the picture as a data URL' };
  try {
    const [picture] = await readPictures([url]);
    return picture ?? { unread: 'no picture' };
  } catch (error) {
    if (error instanceof PictureRefused) return { unread: error.message };
    throw error;
  }
}

/** Returns the pictures of messages that were read, in order, as many as one observation holds. */
export function picturesIn(messages: readonly CallMessage[], pictures: PromptPictures): readonly Picture[] {
  return messages
    .flatMap(({ parts }) => parts)
    .flatMap((part): Picture[] => {
      const picture = part.kind === 'picture' ? pictures.get(part.url) : undefined;
      return picture && 'png' in picture ? [picture] : [];
    })
    .slice(0, PICTURE_LIMITS.count);
}

const OF_CALL = 64; // pictures of one call that no observation holds

/** Returns the pictures of a request that the record does not hold yet, and the ids of those that it holds then. */
export function otherPictures(
  pictures: PromptPictures,
  recorded: ReadonlySet<string>,
): { readonly besides: readonly Picture[]; readonly held: ReadonlySet<string> } {
  const read = [...pictures.values()].filter((each) => 'png' in each);
  const byId = new Map(read.map((picture) => [picture.imageId, picture]));
  const besides = [...byId.values()].filter(({ imageId }) => !recorded.has(imageId)).slice(0, OF_CALL);
  return { besides, held: new Set([...recorded, ...besides.map(({ imageId }) => imageId)]) };
}
