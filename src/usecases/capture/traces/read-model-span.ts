import type { DataOf } from '../../../events/catalogue.ts';
import { derivedId } from '../../../events/derived-id.ts';
import type { ToolSpan } from '../conversation.ts';
import type { ReadReply } from '../read-reply.ts';
import { chatMessage, isObject, type Json, list, type ReadRequest, readRequest, string } from '../read-request.ts';
import type { Attributes, Span } from './read-spans.ts';

/** A call of a model as a span shows it. */
interface ModelSpan {
  readonly request: ReadRequest;
  readonly reply: ReadReply;
  /** Attributes that have no place elsewhere. */
  readonly rest: Json;
}

/** Whether a span is a call of a model, by the conventions of GenAI or of OpenInference. */
function isModelSpan({ attributes }: Span): boolean {
  const kind = attributes.get('openinference.span.kind');
  if (kind !== undefined) return kind === 'LLM';
  const operation = attributes.get('gen_ai.operation.name');
  if (operation === undefined) return attributes.has('gen_ai.request.model') || attributes.has('llm.model_name');
  return ['chat', 'text_completion', 'generate_content'].includes(String(operation));
}

const HELD = /^(llm\.(input|output)_messages\.|gen_ai\.(input|output)\.messages$|gen_ai\.(prompt|completion)\.\d)/;

/** Reads the messages, the reply and the settings of a call, in whichever convention they are. */
export function readModelSpan(span: Span): ModelSpan {
  const { attributes: of } = span;
  const parameters = jsonOf(of.get('llm.invocation_parameters'));
  const [asked, said] = [askedOf(span), saidOf(span)];
  const settings = isObject(parameters) ? parameters : {};
  const tools = numbered(of, 'llm.tools').map((each) => jsonOf(each.get('tool.json_schema')));
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
    count(of, 'gen_ai.usage.input_tokens', 'gen_ai.usage.prompt_tokens', 'llm.token_count.prompt'),
    count(of, 'gen_ai.usage.output_tokens', 'gen_ai.usage.completion_tokens', 'llm.token_count.completion'),
  ];
  const usage = promptTokens === null || completionTokens === null ? null : { promptTokens, completionTokens };
  const reasons = list(of.get('gen_ai.response.finish_reasons'));
  return {
    request: readRequest('chat.completions', body),
    reply: {
      promptTokenIds: null,
      usage,
      responseId: text(of, 'gen_ai.response.id'),
      model: text(of, 'gen_ai.response.model', 'llm.model_name'),
      fingerprint: null,
      choices: said.flatMap((given, i) => {
        const message = chatMessage({ ...given, role: 'assistant' });
        if (message === null) return [];
        const finishReason = string(given.finish_reason) ?? string(reasons[i]);
        const each = said.length === 1 ? usage : null;
        return [{ message, raw: JSON.stringify(given), tokens: null, namedTokens: null, usage: each, finishReason }];
      }),
    },
    rest: Object.fromEntries([...of].filter(([name]) => !HELD.test(name))),
  };
}

function askedOf({ attributes, events }: Span): readonly Json[] {
  const listed = [...partsMessages(attributes.get('gen_ai.input.messages'))];
  const system = jsonOf(attributes.get('gen_ai.system_instructions'));
  if (listed.length > 0)
    return system ? [...partsMessages([{ role: 'system', parts: Array.isArray(system) ? system : [] }]), ...listed] : listed;
  const inferred = numbered(attributes, 'llm.input_messages').map(inferredMessage);
  if (inferred.length > 0) return inferred;
  const flat = numbered(attributes, 'gen_ai.prompt').map(flatMessage);
  if (flat.length > 0) return flat;
  return events.flatMap(({ name, attributes: of }): Json[] => {
    const [, role] = /^gen_ai\.(system|user|assistant|tool)\.message$/.exec(name) ?? [];
    if (role) return [{ role, content: of.get('content'), tool_calls: jsonOf(of.get('tool_calls')), tool_call_id: of.get('id') }];
    return name === 'gen_ai.content.prompt' ? list(jsonOf(of.get('gen_ai.prompt'))).filter(isObject) : [];
  });
}

function saidOf({ attributes, events }: Span): readonly Json[] {
  const listed = partsMessages(attributes.get('gen_ai.output.messages'));
  if (listed.length > 0) return listed;
  const inferred = numbered(attributes, 'llm.output_messages').map(inferredMessage);
  if (inferred.length > 0) return inferred;
  const flat = numbered(attributes, 'gen_ai.completion').map(flatMessage);
  if (flat.length > 0) return flat;
  return events.flatMap(({ name, attributes: of }): Json[] => {
    if (name === 'gen_ai.content.completion') return list(jsonOf(of.get('gen_ai.completion'))).filter(isObject);
    if (name !== 'gen_ai.choice') return [];
    const message = jsonOf(of.get('message'));
    const said = isObject(message) ? message : { content: of.get('content'), tool_calls: jsonOf(of.get('tool_calls')) };
    return [{ ...said, finish_reason: of.get('finish_reason') }];
  });
}

/** Messages of `gen_ai.input.messages`: a list of parts each. */
function partsMessages(given: unknown): readonly Json[] {
  return list(jsonOf(given))
    .filter(isObject)
    .map(({ role, parts, finish_reason }) => {
      const each = list(parts).filter(isObject);
      const result = each.find(({ type }) => type === 'tool_call_response');
      const content = each.flatMap((part): Json[] => {
        if (part.type === 'text') return [{ type: 'text', text: part.content }];
        if (part.type === 'uri') return [{ type: 'image_url', image_url: { url: part.uri } }];
        if (part.type === 'blob')
          return [{ type: 'image_url', image_url: { url: `data:${part.mime_type};base64,${part.content}` } }];
        return [];
      });
      const calls = each.filter(({ type }) => type === 'tool_call');
      return {
        role: result ? 'tool' : role,
        finish_reason,
        content: result ? written(result.response ?? result.result) : content,
        tool_calls: calls.map(({ id, name, arguments: sent }) => ({ id, function: { name, arguments: written(sent) } })),
        ...(result ? { tool_call_id: result.id } : {}),
      };
    });
}

/** A message of OpenInference. */
function inferredMessage(of: Attributes): Json {
  const parts = numbered(of, 'message.contents').map((part): Json => {
    const url = part.get('message_content.image.image.url');
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
  const { role, content } = { role: of.get('role'), content: of.get('content') };
  return { role, content, tool_calls: calls, tool_call_id: of.get('tool_call_id'), finish_reason: of.get('finish_reason') };
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
    return JSON.parse(given);
  } catch {
    return given;
  }
}

function written(given: unknown): string {
  return typeof given === 'string' ? given : given === undefined ? '' : JSON.stringify(given);
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

/** Returns the id of a span, which is also that of the call that it becomes. */
export function spanIdOf({ traceId, spanId }: Span): string {
  return derivedId('call-span', traceId, spanId);
}

/** Returns what a span describes, by the conventions of GenAI or of OpenInference; null for one that is of neither. */
export function kindOf(span: Span): SpanKind | null {
  if (isModelSpan(span)) return 'model';
  const kind = span.attributes.get('openinference.span.kind');
  const operation = span.attributes.get('gen_ai.operation.name');
  if (kind === 'TOOL' || operation === 'execute_tool') return 'tool';
  if (kind === 'AGENT' || operation === 'invoke_agent') return 'agent';
  if (kind !== undefined || operation !== undefined) return 'chain';
  return span.parentSpanId === null ? 'root' : null;
}

/** Reads the call of a tool that a span describes. */
export function toolSpanOf({ attributes: of, name, startMs, endMs, failure }: Span): ToolSpan {
  const text = (...names: readonly string[]): string | null => {
    const found = names.map((each) => of.get(each)).find((value) => value !== undefined && value !== null);
    return found === undefined ? null : typeof found === 'string' ? found : JSON.stringify(found);
  };
  return {
    callId: text('gen_ai.tool.call.id', 'tool_call.id', 'tool.id'),
    name: text('gen_ai.tool.name', 'tool.name') ?? name.replace(/^execute_tool /, ''),
    output: text('gen_ai.tool.call.result', 'output.value') ?? failure ?? '',
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
