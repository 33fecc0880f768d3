import { type CalledTool, type CallMessage, type CallPart, callMessage } from '../../domain/capture/call-message.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { jsonText } from '../../events/json-text.ts';

// Messages of chat completions, of the responses protocol and of Anthropic's, as clients, servers and their instrumentations write them.

export type Json = Readonly<Record<string, unknown>>;

/** Takes what could not be read, in words that begin with its path; of a part also its type. */
export type Lose = (what: string, type?: string) => void;

/** Begins the path of what is lost. */
export function below(lose: Lose, path: string | number): Lose {
  return (what, type) => lose(`${path}.${what}`, type);
}

/** Reads one message of chat completions, of a request or of a reply; null for what is none. */
export function chatMessage(given: unknown, lose: Lose): CallMessage | null {
  const role = isObject(given) ? roleOf(given.role) : null;
  if (!isObject(given) || role === null) {
    lose(isObject(given) ? `role is ${cutText(jsonText(given.role), 100)}` : 'is no object');
    return null;
  }
  const called = [
    ...listOf(given.tool_calls, 'tool_calls', lose),
    ...(isObject(given.function_call) ? [{ function: given.function_call }] : []),
  ];
  const said = partsOf(given.content, lose);
  return callMessage(role, said.length === 0 ? besidesContent(given, lose) : said, {
    reasoning: reasoningOf(given, lose),
    toolCalls: called.flatMap((call, i) => toolOf(call, below(lose, `tool_calls.${i}`))),
    toolCallId: string(given.tool_call_id) || null,
    name: string(given.name) || null,
  });
}

/** A reply that says nothing. */
export const SILENT: CallMessage = callMessage('assistant', []);

/** Whether a reply holds no text, no call of a tool, and nothing that the model thought. */
export function isSilent({ parts, reasoning, toolCalls }: CallMessage): boolean {
  return parts.length === 0 && toolCalls.length === 0 && reasoning === '';
}

/** What a message without content says: a refusal, or sound, of which the text is kept. */
function besidesContent({ refusal, audio }: Json, lose: Lose): readonly CallPart[] {
  if (typeof refusal === 'string' && refusal !== '') return [text(refusal)];
  if (!isObject(audio)) return [];
  const transcript = string(audio.transcript) ?? '';
  lose(transcript === '' ? 'audio is not kept, and has no transcript' : 'audio is kept as its transcript');
  return transcript === '' ? [] : [text(transcript)];
}

/** Reads items of the responses protocol, of a request or of a reply, as messages: what the model said at once is one. */
export function messagesOfItems(items: readonly unknown[], lose: Lose): readonly CallMessage[] {
  const messages: CallMessage[] = [];
  const add = (more: CallMessage) => {
    const last = messages.at(-1);
    if (last?.role !== 'assistant' || more.role !== 'assistant') return messages.push(more);
    messages.pop();
    const reasoning = [last.reasoning, more.reasoning].filter(Boolean).join('\n');
    const toolCalls = [...last.toolCalls, ...more.toolCalls];
    return messages.push({ ...last, parts: [...last.parts, ...more.parts], reasoning, toolCalls });
  };
  for (const [i, item] of items.entries()) {
    if (!isObject(item)) {
      lose(`${i} is no object`);
      continue;
    }
    switch (item.type) {
      case 'function_call':
      case 'custom_tool_call': {
        const called = { id: string(item.call_id), name: string(item.name) ?? '' };
        add(callMessage('assistant', [], { toolCalls: [{ ...called, arguments: argumentsOf(item.arguments ?? item.input) }] }));
        break;
      }
      case 'function_call_output':
      case 'custom_tool_call_output':
        add(callMessage('tool', partsOf(item.output, below(lose, i)), { toolCallId: string(item.call_id) }));
        break;
      case 'reasoning': {
        const reasoning = [...list(item.summary), ...list(item.content)].map(textIn).join('\n');
        if (reasoning !== '') add(callMessage('assistant', [], { reasoning }));
        break;
      }
      default: {
        const role = roleOf(item.role);
        if (role !== null) add(callMessage(role, partsOf(item.content, below(lose, i))));
        else lose(`${i} is an item of type ${cutText(jsonText(item.type), 100)}`);
      }
    }
  }
  return messages;
}

/** Reads a message that may be made of blocks, of a request or of a reply: each result of a tool in it is a message of its own. */
export function blockMessages(given: unknown, lose: Lose): readonly CallMessage[] {
  if (!isObject(given)) {
    lose('is no object');
    return [];
  }
  const blocks = list(given.content);
  const of = (type: string) => blocks.filter((block): block is Json => isObject(block) && block.type === type);
  const [results, calls] = [of('tool_result'), of('tool_use')];
  const isOwn = (block: unknown) => ![...results, ...calls].some((other) => other === block);
  const own = {
    ...given,
    content: Array.isArray(given.content) ? blocks.filter(isOwn) : given.content,
    tool_calls: [...list(given.tool_calls), ...calls.map(({ id, name, input }) => ({ id, name, input }))],
  };
  const answers = results.map(({ tool_use_id, content }) => ({ role: 'tool', tool_call_id: tool_use_id, content }));
  const isOnlyResults = results.length > 0 && results.length === blocks.length;
  return [...answers, ...(isOnlyResults ? [] : [own])]
    .map((message) => chatMessage(message, lose))
    .filter((message) => message !== null);
}

export function text(content: string): CallPart {
  return { kind: 'text', text: content };
}

function textIn(part: unknown): string {
  return isObject(part) ? (string(part.text) ?? '') : '';
}

function toolOf(call: unknown, lose: Lose): CalledTool[] {
  const { function: fn, custom, id, name } = isObject(call) ? call : {};
  const called = [fn, custom, name === undefined ? null : call].find(isObject);
  if (called === undefined || typeof called.name !== 'string') lose('names no tool');
  if (called === undefined) return [];
  return [{ id: string(id), name: string(called.name) ?? '', arguments: argumentsOf(called.arguments ?? called.input) }];
}

/** Arguments are JSON in a string; some servers send the value itself. */
export function argumentsOf(given: unknown): string {
  if (given === undefined || given === null) return '';
  return typeof given === 'string' ? given : jsonText(given);
}

/**
 * What a model thought before it answered, where its server takes that out of the text: in a field (vLLM, SGLang), in blocks of
 * Anthropic's (LiteLLM), in details (OpenRouter), or as parts of the content (Mistral). Servers say the same in several.
 */
function reasoningOf({ content, ...message }: Json, lose: Lose): string {
  const inContent = list(content).map(thinkingIn).join('');
  for (const field of THOUGHTS) {
    const thought = thoughtIn(message[field]);
    if (thought !== '') return thought;
  }
  const unread = THOUGHTS.find((field) => isFilled(message[field]));
  if (inContent === '' && unread) lose(`${unread} holds no text`);
  return inContent;
}

const THOUGHTS = ['reasoning_content', 'reasoning', 'thinking_blocks', 'reasoning_details'];

/** The text of a part that is thinking (Mistral, Anthropic, OpenTelemetry); empty for any other. */
export function thinkingIn(part: unknown): string {
  if (!isObject(part) || !THINKING.includes(String(part.type))) return '';
  return thoughtIn(part.thinking ?? part.reasoning ?? part);
}

/** The text of a thought: a string, an object with one, or a list of them; empty where there is none. */
export function thoughtIn(thought: unknown): string {
  if (typeof thought === 'string') return thought;
  if (Array.isArray(thought)) return thought.map(thoughtIn).join('');
  if (!isObject(thought)) return '';
  return thoughtIn(thought.text ?? thought.thinking ?? thought.summary ?? thought.content);
}

/** Whether a thought is an empty text, or a list of none but such. */
function saysNothing(thought: unknown): boolean {
  if (Array.isArray(thought)) return thought.every((each) => saysNothing(isObject(each) ? each.text : each));
  return thought === '';
}

/** Whether a value says something. */
export function isFilled(value: unknown): boolean {
  return isSet(value) && value !== '' && jsonText(value) !== '[]' && jsonText(value) !== '{}';
}

/** Reads a content: a text, or its parts but for thinking. What is none of a kind that a record holds is lost: no text takes its place. */
function partsOf(content: unknown, lose: Lose): readonly CallPart[] {
  if (typeof content === 'string') return content === '' ? [] : [text(content)];
  if (content === undefined || content === null) return [];
  if (!Array.isArray(content) && !(isObject(content) && string(content.text) !== null)) {
    lose('content is neither a text nor a list of parts, and is not recorded');
    return [];
  }
  return (Array.isArray(content) ? content : [content]).flatMap((part: unknown, i) =>
    partOf(part, (what, type) => lose(`content.${i} ${what}`, type)),
  );
}

const THINKING = ['thinking', 'reasoning'];
const TEXTS = ['text', 'input_text', 'output_text'];

function partOf(part: unknown, lose: Lose): readonly CallPart[] {
  if (typeof part === 'string') return [text(part)];
  if (!isObject(part)) {
    lose('is no part, and is not recorded');
    return [];
  }
  const type = String(part.type);
  if (THINKING.includes(type)) {
    const isEmpty = [part.thinking, part.reasoning, part.text, part.content].some(saysNothing);
    if (!isEmpty && thinkingIn(part) === '') lose('is thinking without a text', type);
    return []; // the reasoning of the message
  }
  const said = string(part.text) ?? string(part.refusal) ?? (TEXTS.includes(type) ? string(part.content) : null);
  if (said !== null) return [text(said)];
  const picture = pictureIn(part);
  if (picture !== null) return [{ kind: 'picture', url: picture }];
  const media = part.mime_type ?? part.mediaType ?? part.mimeType ?? part.modality;
  const of = media === undefined ? '' : ` (${cutText(String(media), 100)})`;
  lose(`is a part of type ${cutText(jsonText(part.type), 100)}${of}, and is not recorded`, type); // sound, files, tools of the server
  return [];
}

/** Returns the address of a picture, which may be a data URL: of OpenAI, Anthropic (`source`), Vercel's SDK (`image`, `file`), OpenTelemetry. */
function pictureIn({ type, image_url: shown, source, image, data, uri, content, ...part }: Json): string | null {
  const media = string(part.mime_type ?? part.mediaType ?? part.mimeType);
  const isPicture = part.modality === 'image' || String(media ?? part.modality ?? 'image').startsWith('image');
  const addressed = (given: unknown, of: unknown = media ?? 'image/png') =>
    typeof given !== 'string' || /^(data|https?|file|gs|s3):/.test(given) ? string(given) : `data:${of};base64,${given}`;
  switch (type) {
    case 'image':
      if (!isObject(source)) return addressed(image);
      return source.type === 'base64' ? addressed(source.data, source.media_type) : string(source.url);
    case 'file':
      return media !== null && isPicture ? addressed(data) : null;
    case 'uri':
      return isPicture ? string(uri) : null;
    case 'blob':
      return isPicture ? addressed(content) : null;
    default:
      return string(isObject(shown) ? shown.url : shown);
  }
}

/** What programs and templates (Llama, GLM, OLMo) call who speaks. */
const ROLES: Readonly<Record<string, CallMessage['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
  function: 'tool',
  ipython: 'tool',
  observation: 'tool',
  environment: 'tool',
};
export const CHAT_ROLES: readonly string[] = Object.keys(ROLES);

function roleOf(role: unknown): CallMessage['role'] | null {
  return typeof role === 'string' && Object.hasOwn(ROLES, role) ? (ROLES[role] ?? null) : null;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
/** The items of a list that may be missing; another value is a loss. */
export function listOf(value: unknown, path: string, lose: Lose): readonly unknown[] {
  if (isSet(value) && !Array.isArray(value)) lose(`${path} is no list`);
  return list(value);
}
export function string(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
