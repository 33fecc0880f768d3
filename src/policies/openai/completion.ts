import { z } from 'zod';
import { type CallMessage, textOf } from '../../domain/capture/call-message.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { type Act, PolicyError } from '../policy.ts';
import { serverMessage } from './post-json.ts';
import { chatMessage, isObject, isSilent, type Json, SILENT } from './read-messages.ts';

/** What one answer holds: an act for each choice (without its call), and what the server says about the request. */
interface Completion {
  readonly acts: readonly Act[];
  /** The messages of the choices: as they are read, and as the server wrote them. */
  readonly messages: readonly { readonly message: CallMessage; readonly given: Json; readonly logprobs: Choice['logprobs'] }[];
  readonly responseId: string | null;
  readonly model: string | null;
  /** Token ids of the prompt, which all choices share; null where the server returns none (vLLM does from 0.10.2). */
  readonly promptTokenIds: readonly number[] | null;
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number } | null;
  /** Which weights answered, in the server's words: `system_fingerprint`, or SGLang's `weight_version`. */
  readonly fingerprint: string | null;
}

const tokenId = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);

const spoken = z.object({
  token: z.string(),
  logprob: z.number().nullish(), // some servers leave out that of the first token
  bytes: z.array(z.int().min(0).max(255)).nullish().catch(null),
  entropy: z.number().min(0).nullish().catch(null), // in nats; no part of the protocol: our own server returns it
});
type Spoken = z.infer<typeof spoken>;

// Servers add fields freely and differ in the rest: only what is read is checked, and what may be missing may also be null.
const choice = z.object({
  index: z.int().nullish(),
  message: z.custom<Json>(isObject, 'Invalid input: expected an object'),
  finish_reason: z.string().nullish(),
  logprobs: z.object({ content: z.array(spoken).nullish() }).nullish(),
  token_ids: z.array(tokenId).nullish(),
  meta_info: z
    .object({ output_token_logprobs: z.array(z.tuple([z.number(), tokenId], z.unknown())).nullish() })
    .nullish()
    .catch(null), // not part of the protocol: another server may use the name for something else
});
type Choice = z.infer<typeof choice>;

const completion = z.object({
  id: z.string().nullish(),
  model: z.string().nullish(),
  choices: z.array(choice).min(1),
  prompt_token_ids: z.array(tokenId).nullish(),
  usage: z.object({ prompt_tokens: z.int().min(0), completion_tokens: z.int().min(0).nullish() }).nullish(),
  system_fingerprint: z.string().nullish().catch(null),
  metadata: z.object({ weight_version: z.string().nullish() }).nullish().catch(null),
});

/** Reads the body of a chat completion. @throws PolicyError `protocol` that says what is wrong with it. */
export function parseCompletion(text: string): Completion {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PolicyError('protocol', `the model server's answer is not JSON: ${JSON.stringify(text.slice(0, 200))}`, {
      cause: error,
    });
  }
  return readCompletion(value);
}

/**
 * Reads a chat completion that is parsed.
 * @param leaveOut where given, a field besides the choices and their messages that cannot be read is left out, and named to it.
 * @throws PolicyError `protocol` that says what is wrong with it.
 */
export function readCompletion(value: unknown, leaveOut?: (what: string) => void): Completion {
  if (typeof value === 'object' && value !== null && 'error' in value && value.error) {
    const inside = serverMessage(JSON.stringify(value));
    throw new PolicyError('protocol', `the model server answered with status 200 but an error inside: ${inside}`);
  }
  const first = completion.safeParse(value);
  const parsed = first.success || !leaveOut ? first : completion.safeParse(withoutUnread(value, first.error.issues, leaveOut));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw noCompletion(`${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`);
  }
  const { id, model, choices, usage } = parsed.data;
  const ordered = choices.map((one, i) => ({ one, at: one.index ?? i })).sort((a, b) => a.at - b.at);
  const tokens = ordered.map(({ one }) => tokensOf(one));
  const total =
    usage?.completion_tokens == null ? null : { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens };
  const lengths = lengthsOf(
    ordered.map(({ one }, i) => tokens[i]?.ids.length ?? one.logprobs?.content?.length ?? null),
    total,
  );
  const messages = ordered.map(({ one: { message: given, logprobs } }, i) => {
    const lost: string[] = [];
    const message = chatMessage({ ...given, role: 'assistant' }, (what) => lost.push(`choices.${i}.message.${what}`)) ?? SILENT;
    if (leaveOut) for (const each of lost) leaveOut(each);
    else if (isSilent(message) && lost[0]) throw noCompletion(lost[0]);
    return { message, given, logprobs };
  });
  return {
    messages,
    acts: ordered.map(({ one }, i) => {
      const length = lengths?.[i];
      const said = saidIn(messages[i]?.message ?? SILENT, one.finish_reason === 'length');
      return {
        ...said,
        tokens: withTexts(tokens[i] ?? null, said.response, one),
        usage: total && length !== undefined ? { promptTokens: total.promptTokens, completionTokens: length } : null,
        finishReason: one.finish_reason ?? null,
      };
    }),
    responseId: id ?? null,
    model: model ?? null,
    promptTokenIds: parsed.data.prompt_token_ids ?? null,
    usage: total,
    fingerprint: (parsed.data.system_fingerprint || parsed.data.metadata?.weight_version)?.slice(0, 500) ?? null,
  };
}

function noCompletion(why: string): PolicyError {
  return new PolicyError('protocol', `the model server's answer is no chat completion: ${why}`);
}

/** Returns a completion without the fields that could not be read: one of its own, or one of a choice. Its messages are the same objects. */
function withoutUnread(value: unknown, issues: readonly z.core.$ZodIssue[], leaveOut: (what: string) => void): unknown {
  if (!isObject(value)) return value;
  const { choices } = value;
  const copy = {
    ...value,
    choices: Array.isArray(choices) ? choices.map((each) => (isObject(each) ? { ...each } : each)) : choices,
  };
  for (const { path, message } of issues) {
    const depth = path[0] === 'choices' ? 2 : 0;
    let owner: unknown = copy;
    for (const key of path.slice(0, depth)) owner = Reflect.get(Object(owner), key);
    const field = path[depth];
    if (field === undefined || field === 'message' || !Reflect.has(Object(owner), field)) continue;
    Reflect.deleteProperty(Object(owner), field);
    leaveOut(`${path.join('.')} cannot be read: ${message}`);
  }
  return copy;
}

/**
 * Returns what a message is as an act: its text, and apart from it what parsers of the server took out of it. A reply that is all
 * reasoning has no content: it was cut off while it thought, or never came to an answer. That is what the model did, so it is an act
 * (malformed, as one that says nothing in form), with the reasoning in the tags that the parser took away; an empty act would hide
 * it, and a failed rollout would count the model's fault as the server's.
 */
function saidIn(message: CallMessage, isCut: boolean): Pick<Act, 'response' | 'apart'> {
  const { reasoning } = message;
  const response = textOf(message);
  const toolCalls = message.toolCalls.slice(0, MOST_CALLS).map(({ id, name, arguments: given }) => ({
    id: id === null ? null : cutText(id, MOST_CHARACTERS),
    name: cutText(name, MOST_CHARACTERS),
    arguments: given,
  }));
  if (response === '' && reasoning !== '' && toolCalls.length === 0)
    return { response: `<think>\n${reasoning}${isCut ? '' : '\n</think>'}` };
  return reasoning === '' && toolCalls.length === 0 ? { response } : { response, apart: { reasoning, toolCalls } };
}

const MOST_CALLS = 1_000; // and characters of names: as events take them
const MOST_CHARACTERS = 10_000;

/**
 * Takes the sampled token ids, where the server gave them: `token_ids` (vLLM from 0.10.2, newer SGLang), `meta_info` (SGLang), or
 * log-probabilities whose tokens read `token_id:123` (older vLLM). Without ids there are no tokens at all: re-tokenising the text
 * may give other ids than were sampled, and training on those is wrong without any sign of it.
 */
function tokensOf(one: Choice): Act['tokens'] {
  const said = one.logprobs?.content?.map(({ logprob }) => logprob ?? null);
  const stated = said?.every((each) => each !== null) ? said : null;
  if (one.token_ids) {
    return { ids: one.token_ids, logProbs: stated?.length === one.token_ids.length ? stated : null };
  }
  const meta = one.meta_info?.output_token_logprobs;
  if (meta) return { ids: meta.map(([, id]) => id), logProbs: meta.map(([logProb]) => logProb) };
  const ids = one.logprobs?.content?.map(({ token }) => /^token_id:([0-9]{1,9})$/.exec(token)?.[1]);
  if (!ids || ids.length === 0 || ids.includes(undefined)) return null;
  return { ids: ids.map(Number), logProbs: stated };
}

/** Adds where the text of each token ends in the response, and its entropy, where the server says so of every token. */
function withTexts(tokens: Act['tokens'], response: string, { logprobs }: Choice): Act['tokens'] {
  const said = logprobs?.content;
  if (tokens === null || said?.length !== tokens.ids.length || said.length === 0) return tokens;
  const ends = tokenEnds(response, said.map(pieceOf));
  const entropies = said.flatMap(({ entropy }) => entropy ?? []);
  return { ...tokens, ...(ends ? { ends } : {}), ...(entropies.length === said.length ? { entropies } : {}) };
}

function pieceOf({ token, bytes }: Spoken): Piece {
  const isId = /^token_id:\d+$/.test(token);
  if (bytes) {
    const piece = Uint8Array.from(bytes);
    return isId && Buffer.from(piece).toString('utf8') === token ? null : piece; // older vLLM: the bytes of the id in words
  }
  return isId ? null : Buffer.from(token, 'utf8');
}

/**
 * Returns each choice's length in tokens, only where it is certain: one choice alone, or counts that add up to the server's
 * total.
 */
function lengthsOf(counts: readonly (number | null)[], total: Completion['usage']): readonly number[] | null {
  if (!total) return null;
  if (counts.length === 1) return [total.completionTokens];
  const known = counts.filter((count) => count !== null);
  const sum = known.reduce((all, count) => all + count, 0);
  return known.length === counts.length && sum === total.completionTokens ? known : null;
}

/** What a server says of the text of a token: its bytes, or a text in their place; null where it says nothing. */
export type Piece = Uint8Array | null;

const CHARACTER = 4; // bytes of one in UTF-8 at most
const CUT = Buffer.from('\u{FFFD}');

/**
 * Finds where in a response the text of each token ends, in code points. A token whose text is not in the response (the one that
 * ends a reply, a special one) is empty; of a character that several tokens make up, the last has it. Null where the pieces do
 * not make up the response: nothing is recorded rather than something wrong.
 */
export function tokenEnds(response: string, pieces: readonly Piece[]): readonly number[] | null {
  const whole = Buffer.from(response, 'utf8');
  const ends: number[] = []; // in bytes
  let at = 0;
  let cut = 0; // tokens before that hold parts of characters alone
  for (const piece of pieces) {
    if (piece === null) return null;
    const part = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    if (cut === 0 && part.length > 0 && placeOf(whole, part, at, 0) === at) at += part.length;
    else if (isCut(part)) cut++;
    else if (part.length > 0) {
      const found = placeOf(whole, part, at, cut);
      if (found !== -1) {
        if (cut > 0) ends[ends.length - 1] = found;
        at = found + part.length;
        cut = 0;
      }
    }
    ends.push(at);
  }
  if (cut > 0 && whole.length - at <= cut * CHARACTER) at = ends[ends.length - 1] = whole.length;
  return at === whole.length ? inCodePoints(whole, ends) : null;
}

/** Engines write a part of a character as U+FFFD, or as the bytes that it is. */
function isCut(part: Buffer): boolean {
  return part.length > 0 && part.length % CUT.length === 0 && part.every((byte, i) => byte === CUT[i % CUT.length]);
}

/** Where a piece follows: at once, or behind the characters that cut tokens before it made up. */
function placeOf(whole: Buffer, part: Buffer, at: number, cut: number): number {
  const last = Math.min(at + cut * CHARACTER, whole.length - part.length);
  for (let place = at; place <= last; place++) if (part.compare(whole, place, place + part.length) === 0) return place;
  return -1;
}

/** Counts whole characters: one that is cut by an end belongs to the token behind it. */
function inCodePoints(whole: Buffer, ends: readonly number[]): readonly number[] {
  let [byte, points] = [0, 0];
  return ends.map((end) => {
    for (let next = byte + widthAt(whole, byte); byte < whole.length && next <= end; next = byte + widthAt(whole, byte)) {
      byte = next;
      points++;
    }
    return points;
  });
}

function widthAt(whole: Buffer, place: number): number {
  const first = whole[place] ?? 0;
  return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/**
 * Moves ends to a part of the response that is recorded in its place. Null where it is no part of it.
 */
export function endsWithin(part: string, response: string, ends: readonly number[]): readonly number[] | null {
  if (part === response) return ends;
  const from = response.indexOf(part);
  if (from === -1) return null;
  const before = Array.from(response.slice(0, from)).length;
  const length = Array.from(part).length;
  return ends.map((end) => Math.min(length, Math.max(0, end - before)));
}
