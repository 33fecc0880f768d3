import { parseThoughtAction } from '../../domain/prompts/parse-thought-action.ts';
import type { ParsedResponse } from '../environment.ts';
import type { ServerDescriptor } from './descriptor.ts';

/**
 * Splits a response into thought and action. A line of text is read as for TextCraft; a tag is the first complete search or
 * answer, kept with its tag and with nothing after it, so that passages which the model invents never reach the server.
 */
export function parseResponse(action: ServerDescriptor['action'], response: string): ParsedResponse {
  switch (action) {
    case 'line':
      return parseThoughtAction(response);
    case 'tag':
      return parseTag(response);
    default:
      return action satisfies never;
  }
}

const OPENING = /<(search|answer)>/g;

function parseTag(response: string): ParsedResponse {
  const first = firstTag(response);
  if (first === null) return { thought: thoughtIn(response), action: response.trim(), wellFormatted: false };
  return {
    thought: thoughtIn(response.slice(0, first.start)),
    action: response.slice(first.start, first.end),
    wellFormatted: response.slice(first.end).trim() === '',
  };
}

/**
 * Finds the first tag that is closed. One that is closed nowhere behind an opening is closed nowhere behind the next: it is
 * looked for once.
 */
function firstTag(response: string): { readonly start: number; readonly end: number } | null {
  const unclosed = new Set<string>();
  for (const { 0: opening, 1: tag = '', index: start } of response.matchAll(OPENING)) {
    if (unclosed.has(tag)) continue;
    const closing = `</${tag}>`;
    const at = response.indexOf(closing, start + opening.length);
    if (at >= 0) return { start, end: at + closing.length };
    unclosed.add(tag);
  }
  return null;
}

function thoughtIn(text: string): string {
  return (/<think>([\s\S]*?)(?:<\/think>|$)/.exec(text)?.[1] ?? text).trim();
}
