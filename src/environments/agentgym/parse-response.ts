import { parseThoughtAction } from '../../domain/prompts/parse-thought-action.ts';
import type { ParsedResponse } from '../environment.ts';
import type { ServerDescriptor } from './descriptor.ts';

/**
 * Splits a response into thought and action. A line of text is read as for TextCraft; a tag is the first complete search or answer, kept with
 * its tag and with nothing after it, so that passages which the model invents never reach the server.
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

const TAG = /<(search|answer)>[\s\S]*?<\/\1>/g;

function parseTag(response: string): ParsedResponse {
  const [first, ...more] = response.matchAll(TAG);
  if (first === undefined) return { thought: thoughtIn(response), action: response.trim(), wellFormatted: false };
  const end = first.index + first[0].length;
  return {
    thought: thoughtIn(response.slice(0, first.index)),
    action: first[0],
    wellFormatted: more.length === 0 && response.slice(end).trim() === '',
  };
}

function thoughtIn(text: string): string {
  return (/<think>([\s\S]*?)(?:<\/think>|$)/.exec(text)?.[1] ?? text).trim();
}
