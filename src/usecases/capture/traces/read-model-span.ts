import type { DataOf } from '../../../events/catalogue.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { jsonLoss } from '../../../events/json-loss.ts';
import { jsonText, lossesOfText, tryJsonText } from '../../../events/json-text.ts';
import {
  below,
  chatMessage,
  isObject,
  isSilent,
  type Json,
  type Lose,
  list,
  string,
} from '../../../policies/openai/read-messages.ts';
import type { ToolSpan } from '../conversation.ts';
import type { NamedPlace } from '../place.ts';
import type { ReadReply } from '../read-reply.ts';
import { type ReadRequest, readRequest } from '../read-request.ts';
import { type Attributes, type Span, textOfSpan } from './read-spans.ts';

/** A call of a model as a span shows it. */
interface ModelSpan {
  readonly request: ReadRequest;
  readonly reply: ReadReply;
  /** Attributes that have no place elsewhere. */
  readonly rest: Json;
  /** What its attributes lose, in words: texts that were cut off, and numbers that JSON rounds. */
  readonly losses: readonly string[];
}

/** Whether a span is a call of a model, by the conventions of GenAI or of OpenInference. */
function isModelSpan({ attributes }: Span): boolean {
  const kind = attributes.get('openinference.span.kind');
  if (kind !== undefined) return kind === 'LLM';
  const operation = attributes.get('gen_ai.operation.name');
  if (operation === undefined) return attributes.has('gen_ai.request.model') || attributes.has('llm.model_name');
  return ['chat', 'text_completion', 'generate_content'].includes(String(operation));
}

const HELD =
  /^(llm\.(input|output)_messages\.|gen_ai\.(input|output)\.messages$|gen_ai\.(prompt|completion)\.\d|ai\.prompt|ai\.response\.(text|object|reasoning|toolCalls)$)/;
/** Attributes that are JSON as a text. */
const WRITTEN = [
  ...['gen_ai.input.messages', 'gen_ai.output.messages', 'gen_ai.system_instructions', 'gen_ai.tool.definitions'],
  ...['llm.invocation_parameters', 'ai.prompt.messages', 'ai.response.toolCalls'],
];

/** Reads the messages, the reply and the settings of a call, in whichever convention they are. */
export function readModelSpan(given: Span): ModelSpan {
  const span = withDetails(given);
  const { attributes: of } = span;
  const parameters = jsonOf(of.get('llm.invocation_parameters'));
  const losses = WRITTEN.flatMap((name) => lossOf(name, of.get(name)) ?? []);
  const lost: string[] = [];
  const lose = (what: string) => lost.push(what);
  const asked = askedOf(span, (what) => losses.push(what));
  const said = saidOf(span, lose);
  const settings = isObject(parameters) ? parameters : {};
  const tools = [
    ...numbered(of, 'llm.tools').map((each) => jsonOf(each.get('tool.json_schema'))),
    ...list(of.get('ai.prompt.tools')).map(jsonOf),
  ];
  const model = text(of, 'gen_ai.request.model', 'llm.model_name');
  const body = {
    ...settings,
    model,
    messages: asked,
    tools: tools.length > 0 ? tools : jsonOf(of.get('gen_ai.tool.definitions')),
    ...defined({ temperature: of.get('gen_ai.request.temperature'), max_tokens: of.get('gen_ai.request.max_tokens') }),
    ...defined({ top_p: of.get('gen_ai.request.top_p'), top_k: of.get('gen_ai.request.top_k') }),
    ...defined({ seed: of.get('gen_ai.request.seed') }),
    ...defined({ presence_penalty: of.get('gen_ai.request.presence_penalty') }),
    ...defined({ frequency_penalty: of.get('gen_ai.request.frequency_penalty') }),
  };
  const [promptTokens, completionTokens] = [
    count(of, 'gen_ai.usage.input_tokens', 'gen_ai.usage.prompt_tokens', 'llm.token_count.prompt', 'ai.usage.promptTokens'),
    count(
      ...([of, 'gen_ai.usage.output_tokens', 'gen_ai.usage.completion_tokens', 'llm.token_count.completion'] as const),
      'ai.usage.completionTokens',
    ),
  ];
  const usage = promptTokens === null || completionTokens === null ? null : { promptTokens, completionTokens };
  const reasons = list(jsonOf(of.get('gen_ai.response.finish_reasons')) ?? [of.get('llm.finish_reason')]);
  const read = readRequest('chat.completions', body);
  const output = jsonOf(of.get('output.value')); // the body of the answer, where OpenInference wrote it
  const answer = isObject(output) ? output : {};
  const request = {
    ...read,
    losses: [...new Set([...losses, ...read.losses])],
    // OpenInference keeps that place for them
    hasInstructions: answer.object === 'response' && of.get('llm.input_messages.0.message.role') === 'system',
  };
  return {
    request,
    losses: request.losses,
    reply: {
      losses: lost,
      promptTokenIds: null,
      usage,
      responseId: text(of, 'gen_ai.response.id') ?? string(answer.id),
      model: text(of, 'gen_ai.response.model', 'llm.model_name'),
      fingerprint: null,
      choices: said.flatMap((given, i) => {
        const message = chatMessage({ ...given, role: 'assistant' }, below(lose, `reply.${i}`));
        if (message === null) return [];
        if (message.parts.some(({ kind }) => kind === 'picture')) lose(`reply.${i} holds a picture, which no step holds`);
        if (isSilent(message) && lost.length > 0) return []; // what it said could not be read
        const finishReason = string(given.finish_reason) ?? string(reasons[i]);
        const each = said.length === 1 ? usage : null;
        return [{ message, raw: jsonText(given), tokens: null, namedTokens: null, usage: each, finishReason }];
      }),
    },
    rest: Object.fromEntries([...of].filter(([name]) => !HELD.test(name))),
  };
}

/** Returns a span with what the event says that holds the messages apart from its attributes, or a log record of that name. */
function withDetails(span: Span): Span {
  const details = span.events.filter(({ name }) => name === 'gen_ai.client.inference.operation.details');
  return { ...span, attributes: new Map([...details.flatMap(({ attributes }) => [...attributes]), ...span.attributes]) };
}

function lossOf(name: string, given: unknown): string | null {
  if (given === undefined || given === null) return null;
  if (typeof given !== 'string') {
    if (name.endsWith('.messages') && !Array.isArray(given)) return `${name} is no list of messages`;
    const [first] = typeof given === 'object' ? lossesOfText(given) : [];
    return first === undefined ? null : `${name}: ${first}`;
  }
  const value = jsonOf(given);
  if (value === null) return null;
  const mayBeText = name === 'gen_ai.system_instructions' && !/^\s*[[{]/.test(given);
  if (value === given) return mayBeText ? null : `${name} is no JSON, as if it had been cut off`;
  if (name.endsWith('.messages') && !Array.isArray(value)) return `${name} is no list of messages`;
  const loss = jsonLoss(given, value);
  return loss ? `${name}: ${loss.path} ${loss.message}` : null;
}

function askedOf({ attributes, events }: Span, lose: Lose): readonly Json[] {
  const listed = partsMessages(attributes.get('gen_ai.input.messages'), below(lose, 'gen_ai.input.messages'));
  const system = jsonOf(attributes.get('gen_ai.system_instructions'));
  if (listed.length > 0)
    return system
      ? [
          ...partsMessages(
            [{ role: 'system', parts: Array.isArray(system) ? system : [{ type: 'text', content: system }] }],
            below(lose, 'gen_ai.system_instructions'),
          ),
          ...listed,
        ]
      : listed;
  const inferred = joined(
    withContent(numbered(attributes, 'llm.input_messages').map(inferredMessage), 'llm.input_messages', lose),
  );
  if (inferred.length > 0) return inferred;
  const vercel = vercelMessages(attributes.get('ai.prompt.messages'));
  if (vercel.length > 0) return vercel;
  const flat = numbered(attributes, 'gen_ai.prompt').map(flatMessage);
  if (flat.length > 0) return flat;
  return events.flatMap(({ name, attributes: of }): readonly Json[] => {
    const [, role] = /^gen_ai\.(system|developer|user|assistant|tool)\.message$/.exec(name) ?? [];
    const message = { role, content: of.get('content'), tool_calls: jsonOf(of.get('tool_calls')), tool_call_id: of.get('id') };
    if (role) return withContent([message], name, lose);
    return name === 'gen_ai.content.prompt' ? list(jsonOf(of.get('gen_ai.prompt'))).filter(isObject) : [];
  });
}

function saidOf({ attributes, events }: Span, lose: Lose): readonly Json[] {
  const listed = partsMessages(attributes.get('gen_ai.output.messages'), below(lose, 'gen_ai.output.messages'));
  if (listed.length > 0) return listed;
  const inferred = withContent(numbered(attributes, 'llm.output_messages').map(inferredMessage), 'llm.output_messages', lose);
  const parameters = jsonOf(attributes.get('llm.invocation_parameters'));
  if (inferred.length > 0) return isObject(parameters) && Number(parameters.n) > 1 ? inferred : joined(inferred);
  const flat = numbered(attributes, 'gen_ai.completion').map(flatMessage);
  if (flat.length > 0) return flat;
  const [content, called] = [text(attributes, 'ai.response.text', 'ai.response.object'), attributes.get('ai.response.toolCalls')];
  if (content !== null || called !== undefined)
    return [
      {
        content,
        reasoning_content: attributes.get('ai.response.reasoning'),
        finish_reason: attributes.get('ai.response.finishReason'),
        tool_calls: list(jsonOf(called)).filter(isObject).map(vercelCall),
      },
    ];
  return events.flatMap(({ name, attributes: of }): readonly Json[] => {
    if (name === 'gen_ai.content.completion') return list(jsonOf(of.get('gen_ai.completion'))).filter(isObject);
    if (name !== 'gen_ai.choice') return [];
    const message = jsonOf(of.get('message'));
    const said = isObject(message) ? message : { content: of.get('content'), tool_calls: jsonOf(of.get('tool_calls')) };
    return withContent([{ ...said, finish_reason: of.get('finish_reason') }], name, lose);
  });
}

/** What OpenInference writes in the place of texts that are not to be recorded. */
const REDACTED = '__REDACTED__';

/** Returns the messages whose content is there, be it empty: instrumentations that do not record it write what is around it. */
function withContent(messages: readonly Json[], at: string, lose: Lose): readonly Json[] {
  const isThere = (value: unknown) => value !== undefined && value !== null && value !== REDACTED;
  return messages.filter(({ content, reasoning_content, refusal, tool_calls, function_call }) => {
    const parts = list(content);
    const calls = list(tool_calls).filter(isObject);
    const isRead =
      !parts.some((part) => isObject(part) && part.text === REDACTED) &&
      calls.every(({ function: called, custom }) => !isObject(called) || isThere(called.arguments) || isObject(custom)) &&
      content !== REDACTED &&
      (calls.length > 0 || [content, reasoning_content, refusal, function_call].some(isThere));
    if (!isRead) lose(`${at} holds no content, as if the instrumentation did not record it`);
    return isRead;
  });
}

/**
 * Messages of `gen_ai.input.messages`: a list of parts each, or as chat completions have them. Each result of a tool becomes a message
 * of its own.
 */
function partsMessages(given: unknown, lose: Lose): readonly Json[] {
  return list(jsonOf(given)).flatMap((message, i): readonly Json[] => {
    const loseOf = below(lose, i);
    if (!isObject(message)) {
      loseOf('is no object');
      return [];
    }
    const { role, parts, finish_reason } = message;
    if (!Array.isArray(parts)) {
      if (parts !== undefined && parts !== null) loseOf('parts is no list');
      return withContent([message], `${i}`, lose);
    }
    const each = parts.filter(isObject);
    const answered = each.filter(({ type }) => type === 'tool_call_response');
    const answers = answered.map((part) => {
      const result = part.response ?? part.result;
      if (result === undefined) loseOf('a result of a tool holds no content');
      return { role: 'tool', content: written(result), tool_call_id: part.id };
    });
    const calls = each.filter(({ type }) => type === 'tool_call');
    if (answers.length > 0 && answers.length === parts.length) return answers;
    const own = {
      role,
      finish_reason,
      content: parts.filter((part) => ![...answered, ...calls].some((other) => other === part)),
      tool_calls: calls.map(({ id, name, arguments: sent }) => ({ id, function: { name, arguments: written(sent) } })),
    };
    return [...answers, own];
  });
}

/** Messages of Vercel's AI SDK, whose contents are texts or parts. */
function vercelMessages(given: unknown): readonly Json[] {
  return list(jsonOf(given))
    .filter(isObject)
    .flatMap(({ role, content }): Json[] => {
      if (typeof content === 'string') return [{ role, content }];
      const parts = list(content).filter(isObject);
      const results = parts.filter(({ type }) => type === 'tool-result');
      if (results.length > 0)
        return results.map(({ toolCallId, output, result }) => {
          const value = isObject(output) && 'value' in output ? output.value : (output ?? result);
          return { role: 'tool', tool_call_id: toolCallId, content: written(value) };
        });
      return [
        {
          role,
          content: parts.filter(({ type }) => type !== 'tool-call'),
          tool_calls: parts.filter(({ type }) => type === 'tool-call').map(vercelCall),
        },
      ];
    });
}

function vercelCall({ toolCallId, toolName, args, input }: Json): Json {
  return { id: toolCallId, function: { name: toolName, arguments: written(args ?? input) } };
}

/** Joins what a model said at once, which the responses protocol has as several items: reasoning, text, and each call of a tool. */
function joined(messages: readonly Json[]): readonly Json[] {
  const all: Json[] = [];
  for (const message of messages) {
    const last = all.at(-1);
    if (last?.role !== 'assistant' || message.role !== 'assistant') all.push(message);
    else
      all[all.length - 1] = {
        ...last,
        content: [...partsIn(last.content), ...partsIn(message.content)],
        tool_calls: [...list(last.tool_calls), ...list(message.tool_calls)],
      };
  }
  return all;
}

function partsIn(content: unknown): readonly unknown[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : list(content);
}

/** A message of OpenInference. */
function inferredMessage(of: Attributes): Json {
  const parts = numbered(of, 'message.contents').map((part): Json => {
    const url = part.get('message_content.image.image.url');
    if (part.get('message_content.type') === 'reasoning')
      return { type: 'thinking', thinking: part.get('message_content.text') ?? '' };
    return url === undefined
      ? { type: 'text', text: part.get('message_content.text') }
      : { type: 'image_url', image_url: { url } };
  });
  const calls = numbered(of, 'message.tool_calls').map((call) => ({
    id: call.get('tool_call.id'),
    function: { name: call.get('tool_call.function.name'), arguments: written(call.get('tool_call.function.arguments')) },
  }));
  return {
    role: of.get('message.role'),
    content: parts.length > 0 ? parts : of.get('message.content'),
    tool_calls: calls,
    tool_call_id: of.get('message.tool_call_id'),
  };
}

function flatMessage(of: Attributes): Json {
  const calls = numbered(of, 'tool_calls').map((call) => ({
    id: call.get('id'),
    function: { name: call.get('name'), arguments: written(call.get('arguments')) },
  }));
  const [role, content, reasoning] = ['role', 'content', 'reasoning'].map((name) => of.get(name));
  const said = { role, content, reasoning_content: reasoning, tool_calls: calls };
  return { ...said, tool_call_id: of.get('tool_call_id'), finish_reason: of.get('finish_reason') };
}

/** The attributes `PREFIX.N.REST` of each N, in order, named by their rest. */
function numbered(attributes: Attributes, prefix: string): readonly Attributes[] {
  const found = new Map<number, Map<string, unknown>>();
  for (const [name, value] of attributes) {
    if (!name.startsWith(`${prefix}.`)) continue;
    const [, number, rest] = /^(\d{1,6})\.(.+)$/.exec(name.slice(prefix.length + 1)) ?? [];
    if (number === undefined || rest === undefined) continue;
    const of = found.get(Number(number)) ?? new Map<string, unknown>();
    found.set(Number(number), of.set(rest, value));
  }
  return [...found].sort(([a], [b]) => a - b).map(([, of]) => of);
}

function jsonOf(given: unknown): unknown {
  const read = typeof given === 'string' ? tryJsonText(given) : given;
  return read === undefined ? given : read;
}

function written(given: unknown): string {
  return typeof given === 'string' ? given : given === undefined ? '' : jsonText(given);
}

function text(of: Attributes, ...names: readonly string[]): string | null {
  return string(names.map((name) => of.get(name)).find((value) => typeof value === 'string'));
}

function count(of: Attributes, ...names: readonly string[]): number | null {
  const found = names.map((name) => of.get(name)).find((value) => Number.isSafeInteger(value) && Number(value) >= 0);
  return found === undefined ? null : Number(found);
}

function defined(given: Json): Json {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

type SpanKind = DataOf<'SpanReceived'>['kind'];

/** What a span of a call cannot say, and training by tokens needs. */
export const MISSING = ['prompt token ids', 'token ids', 'log-probabilities'];

/** Returns the id of a span, which is also that of the call that it becomes; a log record is known by all that it says. */
export function spanIdOf(span: Span): string {
  const { isLog, traceId, spanId } = span;
  return isLog ? derivedId('call-log', traceId, spanId, textOfSpan(span)) : derivedId('call-span', traceId, spanId);
}

/** Returns the place that a span names, or its resource; else its trace is one. A log record names it by attributes of its own. */
export function placeOf({ isLog, attributes, resource, traceId, events }: Span): {
  readonly named: NamedPlace;
  readonly endsWithTrace: boolean;
} {
  const own = isLog ? events[0]?.attributes : attributes;
  const of = (name: string): string | null => {
    const given = own?.get(name) ?? resource.get(name);
    return given === undefined || given === null || given === '' ? null : String(given);
  };
  const rollout = of('espalier.rollout');
  const named = { run: of('espalier.run') ?? of('service.name') ?? 'traces', task: of('espalier.task') ?? traceId };
  return { named: { ...named, rollout: rollout ?? traceId }, endsWithTrace: rollout === null };
}

/** Returns a span with what log records say of it, in the order of their times. */
export function withLogs(span: Span, logs: readonly Span[]): Span {
  const own = logs.filter(({ traceId, spanId }) => traceId === span.traceId && spanId === span.spanId);
  const events = own.toSorted((a, b) => a.startMs - b.startMs).flatMap((log) => log.events);
  return { ...span, events: [...span.events, ...events] };
}

/** Returns what a span describes, by the conventions of GenAI, OpenInference or Vercel's AI SDK; null for one that is of none. */
export function kindOf(span: Span): SpanKind | null {
  if (span.isLog) return span.name.startsWith('gen_ai.') ? 'log' : null;
  if (isModelSpan(span)) return 'model';
  const kind = span.attributes.get('openinference.span.kind');
  const operation = span.attributes.get('gen_ai.operation.name');
  if (kind === 'TOOL' || operation === 'execute_tool' || span.attributes.has('ai.toolCall.name')) return 'tool';
  if (kind === 'AGENT' || operation === 'invoke_agent') return 'agent';
  if (kind !== undefined || operation !== undefined) return 'chain';
  return span.parentSpanId === null ? 'root' : null;
}

/** Reads the call of a tool that a span describes. */
export function toolSpanOf({ attributes: of, name, startMs, endMs, failure }: Span): ToolSpan {
  const text = (...names: readonly string[]): string | null => {
    const found = names.map((each) => of.get(each)).find((value) => value !== undefined && value !== null);
    return found === undefined ? null : typeof found === 'string' ? found : jsonText(found);
  };
  return {
    callId: text('gen_ai.tool.call.id', 'tool_call.id', 'tool.id', 'ai.toolCall.id'),
    name: text('gen_ai.tool.name', 'tool.name', 'ai.toolCall.name') ?? name.replace(/^execute_tool /, ''),
    output: text('gen_ai.tool.call.result', 'output.value', 'ai.toolCall.result') ?? failure ?? '',
    outcome: failure === null ? 'ok' : 'error',
    durationMs: endMs - startMs,
  };
}

/** The agents at work in a span, the outermost first: spans of agents that enclose it, by their ids. */
export function agentsOf(span: Span, spans: ReadonlyMap<string, Span>): readonly Span[] {
  const found: Span[] = [];
  const seen = new Set<string>();
  for (let at: Span | undefined = span; at && !seen.has(at.spanId); at = spans.get(at.parentSpanId ?? '')) {
    seen.add(at.spanId);
    if (kindOf(at) === 'agent') found.unshift(at);
  }
  return found;
}

export function agentName({ attributes, name }: Span): string {
  return String(attributes.get('gen_ai.agent.name') ?? attributes.get('agent.name') ?? name.replace(/^invoke_agent /, ''));
}
