import type { DataOf } from '../../../events/catalogue.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { jsonLoss } from '../../../events/json-loss.ts';
import { jsonText, parseJsonText } from '../../../events/json-text.ts';
import type { ToolSpan } from '../conversation.ts';
import type { NamedPlace } from '../place.ts';
import type { ReadReply } from '../read-reply.ts';
import { below, chatMessage, isObject, type Json, list, type ReadRequest, readRequest, string } from '../read-request.ts';
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
export function readModelSpan(span: Span): ModelSpan {
  const { attributes: of } = span;
  const parameters = jsonOf(of.get('llm.invocation_parameters'));
  const [asked, said] = [askedOf(span), saidOf(span)];
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
  const losses = WRITTEN.flatMap((name) => lossOf(name, of.get(name)) ?? []);
  const read = readRequest('chat.completions', body);
  const request = { ...read, losses: [...losses, ...read.losses] };
  const lost: string[] = [];
  return {
    request,
    losses: request.losses,
    reply: {
      losses: lost,
      promptTokenIds: null,
      usage,
      responseId: text(of, 'gen_ai.response.id'),
      model: text(of, 'gen_ai.response.model', 'llm.model_name'),
      fingerprint: null,
      choices: said.flatMap((given, i) => {
        const message = chatMessage(
          { ...given, role: 'assistant' },
          below((what) => lost.push(what), `reply.${i}`),
        );
        if (message === null) return [];
        const finishReason = string(given.finish_reason) ?? string(reasons[i]);
        const each = said.length === 1 ? usage : null;
        return [{ message, raw: jsonText(given), tokens: null, namedTokens: null, usage: each, finishReason }];
      }),
    },
    rest: Object.fromEntries([...of].filter(([name]) => !HELD.test(name))),
  };
}

function lossOf(name: string, given: unknown): string | null {
  if (typeof given !== 'string') return null;
  const value = jsonOf(given);
  const mayBeText = name === 'gen_ai.system_instructions' && !/^\s*[[{]/.test(given);
  if (value === given) return mayBeText ? null : `${name} is no JSON, as if it had been cut off`;
  if (name.endsWith('.messages') && !Array.isArray(value)) return `${name} is no list of messages`;
  const loss = jsonLoss(given, value);
  return loss ? `${name}: ${loss.path} ${loss.message}` : null;
}

function askedOf({ attributes, events }: Span): readonly Json[] {
  const listed = [...partsMessages(attributes.get('gen_ai.input.messages'))];
  const system = jsonOf(attributes.get('gen_ai.system_instructions'));
  if (listed.length > 0)
    return system
      ? [
          ...partsMessages([{ role: 'system', parts: Array.isArray(system) ? system : [{ type: 'text', content: system }] }]),
          ...listed,
        ]
      : listed;
  const inferred = joined(numbered(attributes, 'llm.input_messages').map(inferredMessage));
  if (inferred.length > 0) return inferred;
  const vercel = vercelMessages(attributes.get('ai.prompt.messages'));
  if (vercel.length > 0) return vercel;
  const flat = numbered(attributes, 'gen_ai.prompt').map(flatMessage);
  if (flat.length > 0) return flat;
  return events.flatMap(({ name, attributes: of }): Json[] => {
    const [, role] = /^gen_ai\.(system|developer|user|assistant|tool)\.message$/.exec(name) ?? [];
    if (role) return [{ role, content: of.get('content'), tool_calls: jsonOf(of.get('tool_calls')), tool_call_id: of.get('id') }];
    return name === 'gen_ai.content.prompt' ? list(jsonOf(of.get('gen_ai.prompt'))).filter(isObject) : [];
  });
}

function saidOf({ attributes, events }: Span): readonly Json[] {
  const listed = partsMessages(attributes.get('gen_ai.output.messages'));
  if (listed.length > 0) return listed;
  const inferred = numbered(attributes, 'llm.output_messages').map(inferredMessage);
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
  return events.flatMap(({ name, attributes: of }): Json[] => {
    if (name === 'gen_ai.content.completion') return list(jsonOf(of.get('gen_ai.completion'))).filter(isObject);
    if (name !== 'gen_ai.choice') return [];
    const message = jsonOf(of.get('message'));
    const said = isObject(message) ? message : { content: of.get('content'), tool_calls: jsonOf(of.get('tool_calls')) };
    return [{ ...said, finish_reason: of.get('finish_reason') }];
  });
}

/** Messages of `gen_ai.input.messages`: a list of parts each. Each result of a tool becomes a message of its own. */
function partsMessages(given: unknown): readonly Json[] {
  return list(jsonOf(given))
    .filter(isObject)
    .flatMap(({ role, parts, finish_reason }): Json[] => {
      const each = list(parts).filter(isObject);
      const isResult = ({ type }: Json) => type === 'tool_call_response';
      const answers = each
        .filter(isResult)
        .map((part) => ({ role: 'tool', content: written(part.response ?? part.result), tool_call_id: part.id }));
      const rest = each.filter((part) => !isResult(part));
      if (answers.length > 0 && rest.length === 0) return answers;
      const calls = rest.filter(({ type }) => type === 'tool_call');
      const own = {
        role,
        finish_reason,
        content: rest.filter(({ type }) => type !== 'tool_call').map(contentOfPart),
        tool_calls: calls.map(({ id, name, arguments: sent }) => ({ id, function: { name, arguments: written(sent) } })),
      };
      return [...answers, own];
    });
}

function contentOfPart(part: Json): Json {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.content };
    case 'reasoning':
      return { type: 'thinking', thinking: part.content };
    case 'uri':
      return { type: 'image_url', image_url: { url: part.uri } };
    case 'blob':
      return { type: 'image_url', image_url: { url: `data:${part.mime_type};base64,${part.content}` } };
    default:
      return part; // kept as the text that it is written as
  }
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
      const said = parts.filter(({ type }) => type !== 'tool-call');
      return [
        {
          role,
          content: said.map((part) => {
            if (part.type === 'reasoning') return { type: 'thinking', thinking: part.text };
            return part.type === 'image' ? { type: 'image_url', image_url: { url: part.image } } : part;
          }),
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
  if (typeof given !== 'string') return given;
  try {
    return parseJsonText(given);
  } catch {
    return given;
  }
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
  const details = events.filter(({ name }) => name === 'gen_ai.client.inference.operation.details');
  return {
    ...span,
    attributes: new Map([...details.flatMap(({ attributes }) => [...attributes]), ...span.attributes]),
    events: [...span.events, ...events],
  };
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
