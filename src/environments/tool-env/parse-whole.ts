import type { ParsedResponse } from '../environment.ts';

/**
 * A response is an action as a whole: its form is scored too. The labels of the policies that pick (`Thought:`, `Action:`) are no
 * part of it.
 */
export function parseWhole(response: string): ParsedResponse {
  const label = response.startsWith('Thought:') ? response.indexOf('Action:', 'Thought:'.length) : -1;
  const action = label < 0 ? response : response.slice(label + 'Action:'.length).trimStart();
  const end = action.startsWith('<think>') ? action.indexOf('</think>') : -1;
  return { thought: end < 0 ? '' : action.slice('<think>'.length, end).trim(), action, wellFormatted: end >= 0 };
}
