import type { DataOf } from '../../../events/catalogue.ts';
import { derivedId } from '../../../events/derived-id.ts';
import type { ToolSpan } from '../tool-runs.ts';
import { isModelSpan } from './read-model-span.ts';
import type { Span } from './read-spans.ts';

export type SpanKind = DataOf<'SpanReceived'>['kind'];

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
