import { z } from 'zod';
import { type Sha256, updateFromFile } from '../../../../digest/sha256.ts';
import { wellFormed } from '../../../../events/well-formed.ts';
import { characterNotes, type EpisodeTurn, type ParsedItem, type RowNote, unreadNotes, withNotes } from '../agent-traj-item.ts';
import { badRow, parseJson, readParsedRows } from '../read-rows.ts';
import { isZip, readZip, type ZipMember } from '../read-zip.ts';
import { type ChatFacts, chat, chatEpisode, namesIn, refusedShape } from './chat-episode.ts';
import { type ItemForm, type ItemOfFile, isObject } from './item-of-file.ts';

/**
 * Logs of Inspect, as `.eval` (a zip of JSON) and as `.json`: a rollout per sample and epoch, its chat as the sample ends with it.
 */
export const inspectForm = {
  name: 'inspect',
  importer: 'inspect/1',
  title: 'Inspect',
  policyId: 'inspect',
  notKept: 'events of a sample besides usage and tools of model calls, its store, target and times, and log-probabilities',
  recognizes: ({ eval: spec, version, status }) =>
    isObject(spec) && 'task' in spec && 'model' in spec && (version !== undefined || status !== undefined),
  items: (path, { environment }, hash) => readLog(path, environment, hash),
} as const satisfies ItemForm;

const spec = z.looseObject({ task: z.string().min(1), model: z.string().min(1) });
const header = z.looseObject({ eval: spec });
const log = header.extend({ samples: z.array(z.unknown()).nullish() });
type Spec = z.infer<typeof spec>;

const message = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
  source: z.string().nullish(),
  tool_calls: z
    .array(z.looseObject({ id: z.string(), function: z.string(), arguments: z.record(z.string(), z.unknown()) }))
    .nullish(),
  tool_call_id: z.union([z.string(), z.array(z.string())]).nullish(),
  function: z.string().nullish(),
  error: z.looseObject({ message: z.string() }).nullish(),
});
type Message = z.infer<typeof message>;
const MESSAGE_READ = ['role', 'content', 'source', 'tool_calls', 'error'];

const count = z.number().int().nonnegative().nullish();
const modelCall = z.looseObject({
  event: z.literal('model'),
  tools: z.array(z.looseObject({ name: z.string() })).nullish(),
  output: z.looseObject({
    choices: z.array(z.looseObject({ message: z.looseObject({ id: z.string().nullish() }), logprobs: z.unknown() })).nullish(),
    usage: z
      .looseObject({
        input_tokens: count,
        output_tokens: count,
        input_tokens_cache_write: count,
        input_tokens_cache_read: count,
      })
      .nullish(),
  }),
});
type ModelCall = z.infer<typeof modelCall>;

const sample = z.looseObject({
  id: z.union([z.string(), z.number()]),
  epoch: z.number().int().nullish(),
  messages: z.array(message),
  scores: z.record(z.string(), z.looseObject({ value: z.unknown() })).nullish(),
  error: z.looseObject({ message: z.string() }).nullish(),
  limit: z.looseObject({ type: z.string() }).nullish(),
  events: z.array(z.unknown()).nullish(),
  attachments: z.record(z.string(), z.string()).nullish(),
});
const SAMPLE_READ = ['id', 'epoch', 'messages', 'scores', 'error', 'limit', 'attachments'];

async function* readLog(path: string, environment: string | null, hash?: Sha256): AsyncGenerator<ItemOfFile> {
  if (await isZip(path)) {
    if (hash) await updateFromFile(hash, path);
    yield* readZip(path, (members) => readSamples(path, members, environment));
    return;
  }
  for await (const row of readParsedRows(path, hash, 'null')) {
    if (row.kind === 'refused') {
      yield { line: row.line, parsed: row };
      continue;
    }
    const read = log.safeParse(row.value);
    if (!read.success) {
      yield { line: row.line, parsed: refusedShape(read.error) };
      continue;
    }
    const { eval: begun, samples } = read.data;
    for (const [i, value] of (samples ?? []).entries()) yield { line: i + 1, parsed: parseSample(value, begun, environment) };
  }
}

/** Reads the samples of a zip; each has the place among them as its line. @throws DatasetError `bad-row` without a header. */
async function* readSamples(path: string, members: readonly ZipMember[], environment: string | null): AsyncGenerator<ItemOfFile> {
  // a log that is still written, or whose program was killed, has only the journal
  const named = (name: string) => members.find((member) => member.name === name);
  const start = named('header.json') ?? named('_journal/start.json');
  if (!start) throw badRow(path, 1, 'the zip has no header.json, so it is no log of Inspect');
  const begun = parseJson(await start.read(), 'null');
  const read = begun.kind === 'row' ? header.safeParse(begun.value) : null;
  if (!read?.success) {
    const refused = begun.kind === 'refused' ? begun : read ? refusedShape(read.error) : null;
    throw badRow(path, 1, `${start.name}: ${refused?.kind === 'refused' ? refused.reason : 'is no header'}`);
  }
  const samples = members.filter(({ name }) => SAMPLE.test(name));
  for (const [i, member] of samples.entries()) {
    const line = i + 1;
    if (member.name.endsWith('/sample.json')) {
      const reason = `${member.name}: the sample is stored in chunks; write the log as .json (\`inspect log convert --to json\`), in parts of fewer samples where that is over 64 MiB`;
      yield { line, parsed: { kind: 'refused', reason } };
      continue;
    }
    const row = parseJson(await member.read(), 'null');
    yield { line, parsed: row.kind === 'refused' ? row : parseSample(row.value, read.data.eval, environment) };
  }
}

/** A sample in one member, or what a sample in chunks begins with. */
const SAMPLE = /^samples\/[^/]+(\.json|\/sample\.json)$/;

/**
 * Reads a sample: its messages are the chat, its scores rewards of the components that they name, `CORRECT` and the like as
 * Inspect counts them. A score without a number has no reward. Replies that the sample began with are context.
 */
export function parseSample(value: unknown, { task, model }: Spec, environment: string | null): ParsedItem {
  const parsed = sample.safeParse(resolved(wellFormed(value).value));
  if (!parsed.success) return refusedShape(parsed.error);
  const { id, messages, scores, error, limit, events } = parsed.data;
  if (!messages.some(({ role }) => role === 'assistant')) return { kind: 'no-conversation' }; // it failed before a reply
  const calls = (events ?? []).flatMap((event) => {
    const call = modelCall.safeParse(event);
    return call.success ? [call.data] : [];
  });
  const notes: RowNote[] = [
    ...characterNotes(value),
    ...unreadNotes(parsed.data, SAMPLE_READ),
    ...callNotes(calls),
    ...Object.values(scores ?? {}).flatMap((score) => unreadNotes(score, ['value'], 'scores[].')),
  ];
  const said = chat.safeParse(messages.map((each) => chatMessage(each, notes)));
  if (!said.success) return refusedShape(said.error);
  const rewards = Object.entries(scores ?? {}).flatMap(([name, score]) => rewardsOf(name, score.value, notes));
  const facts: ChatFacts = {
    environment: environment ?? task,
    alias: String(id),
    success: successOf(Object.values(scores ?? {})),
    outcome: error ? 'failed' : limit ? 'truncated' : 'terminated',
    policy: { policyId: model, version: 0 },
    rewards,
    tools: toolsOf(calls),
  };
  const read = chatEpisode(said.data, facts, namesIn('messages'));
  if (read.kind !== 'episode') return read;
  const replies = messages.filter(({ role }) => role === 'assistant');
  const turns = read.episode.turns.map((turn, i): EpisodeTurn => ({ ...turn, ...usageOf(replies[i], calls) }));
  return withNotes({ kind: 'episode', episode: { ...read.episode, turns } }, notes);
}

const ATTACHMENT = 'attachment://';

/** Puts the attachments of a sample where it refers to them; what the sample lacks stays the reference. */
function resolved(value: unknown): unknown {
  if (!isObject(value) || !isObject(value.attachments)) return value;
  const { attachments } = value;
  const walk = (each: unknown): unknown => {
    if (typeof each === 'string')
      return each.startsWith(ATTACHMENT) ? (attachments[each.slice(ATTACHMENT.length)] ?? each) : each;
    if (Array.isArray(each)) return each.map(walk);
    return isObject(each) ? Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, walk(inner)])) : each;
  };
  return { ...value, messages: walk(value.messages), events: walk(value.events) };
}

function chatMessage(each: Message, notes: RowNote[]): object {
  const { role, content, source, tool_calls: calls, tool_call_id: callId, function: name, error } = each;
  const isTool = role === 'tool';
  for (const one of unreadNotes(each, isTool ? [...MESSAGE_READ, 'tool_call_id', 'function'] : MESSAGE_READ, 'messages[].'))
    notes.push(one);
  for (const call of calls ?? []) for (const each of unreadNotes(call, CALL_READ, 'messages[].tool_calls[].')) notes.push(each);
  const { parts, thought } = partsOf(content, notes);
  return {
    role,
    content: error ? error.message : parts, // the model was shown the error
    ...(thought === '' ? {} : { reasoning_content: thought }),
    ...(calls && calls.length > 0
      ? { tool_calls: calls.map((call) => ({ id: call.id, name: call.function, arguments: call.arguments })) }
      : {}),
    ...(isTool && typeof callId === 'string' ? { tool_call_id: callId } : {}),
    ...(isTool && name ? { name } : {}),
    ...(role === 'assistant' && source === 'input' ? { weight: 0 } : {}),
  };
}

const CALL_READ = ['id', 'function', 'arguments', 'type'];

/** Takes the thought out of a message. Parts of the provider, and tools that it ran itself, are noted; pictures and the like stay, and are refused. */
function partsOf(
  content: Message['content'],
  notes: RowNote[],
): { readonly parts: Message['content']; readonly thought: string } {
  if (typeof content === 'string') return { parts: content, thought: '' };
  const thoughts: string[] = [];
  const parts = content.filter((part) => {
    if (part.type === 'reasoning') {
      const { reasoning, summary, redacted } = part;
      const thought = redacted === true ? summary : reasoning || summary;
      if (typeof thought === 'string' && thought !== '') thoughts.push(thought);
      else notes.push({ kind: 'part-not-read', field: 'reasoning' }); // encrypted
      return false;
    }
    if (part.type !== 'data' && part.type !== 'tool_use') return true;
    notes.push({ kind: 'part-not-read', field: part.type });
    return false;
  });
  return { parts, thought: thoughts.join('\n') };
}

/** Returns the rewards of a score: one, or one for each of its items, named behind a dot. */
function rewardsOf(name: string, value: unknown, notes: RowNote[]): NonNullable<ChatFacts['rewards']> {
  if (value === null || value === undefined) return []; // NaN: it was not scored
  if (typeof value === 'object') return Object.entries(value).flatMap(([key, item]) => rewardsOf(`${name}.${key}`, item, notes));
  const reward = rewardOf(value);
  if (reward === null) notes.push({ kind: 'field-not-read', field: `scores.${name}` });
  return reward === null ? [] : [{ component: name, value: reward, turn: null }];
}

const GRADES: Readonly<Record<string, number>> = { C: 1, P: 0.5, I: 0, N: 0, yes: 1, true: 1, no: 0, false: 0 };

function rewardOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  if (typeof value !== 'string') return null;
  const grade = GRADES[value] ?? GRADES[value.toLowerCase()];
  if (grade !== undefined) return grade;
  const number = value.trim() === '' ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : null;
}

/** One score of `CORRECT`, `INCORRECT` or a boolean says whether the sample succeeded; others do not. */
function successOf(scores: readonly { readonly value: unknown }[]): boolean | null {
  const [only, ...others] = scores;
  if (others.length > 0) return null;
  if (only?.value === 'C' || only?.value === true) return true;
  return only?.value === 'I' || only?.value === false ? false : null;
}

/** Returns the tools that the first call with any was offered, as schemas of functions. */
function toolsOf(calls: readonly ModelCall[]): string | null {
  const [tools] = offersOf(calls);
  return tools ?? null;
}

function offersOf(calls: readonly ModelCall[]): ReadonlySet<string> {
  const offers = calls.flatMap(({ tools }) => (tools && tools.length > 0 ? [tools] : []));
  return new Set(
    offers.map((tools) =>
      JSON.stringify(
        tools.map(({ name, description, parameters }) => ({ type: 'function', function: { name, description, parameters } })),
      ),
    ),
  );
}

function callNotes(calls: readonly ModelCall[]): readonly RowNote[] {
  const hasLogProbs = calls.some(({ output }) => output.choices?.some(({ logprobs }) => logprobs != null));
  return [
    ...(offersOf(calls).size > 1 ? [{ kind: 'field-not-read' as const, field: 'events[].tools of later calls' }] : []),
    ...(hasLogProbs ? [{ kind: 'field-not-read' as const, field: 'events[].output.choices[].logprobs' }] : []),
  ];
}

function usageOf(reply: Message | undefined, calls: readonly ModelCall[]): Pick<EpisodeTurn, 'usage'> {
  if (typeof reply?.id !== 'string') return {};
  const call = calls.find(({ output }) => output.choices?.some((choice) => choice.message.id === reply.id));
  const { input_tokens: input, output_tokens: completionTokens, ...cached } = call?.output.usage ?? {};
  if (typeof input !== 'number' || typeof completionTokens !== 'number') return {};
  const promptTokens = input + (cached.input_tokens_cache_read ?? 0) + (cached.input_tokens_cache_write ?? 0);
  return { usage: { promptTokens, completionTokens } };
}
