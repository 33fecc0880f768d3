import type { CalledTool } from '../../domain/capture/call-message.ts';

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
