import { pythonStrip } from '../domain/text/python-strip.ts';

/**
 * Splits a response as AgentGym's clients for WebShop, SciWorld and ALFWorld do since 2025-09 (`BaseAdapter.parse_react`): the
 * action is all that follows the last `Action:`; without that marker there is no action, save where the text holds a WebShop
 * `search[` or `click[`.
 */
export function parseReact(response: string): { readonly thought: string; readonly action: string } {
  const marker = response.lastIndexOf('Action:');
  if (marker < 0) {
    const isAction = response.includes('search[') || response.includes('click[');
    return isAction ? { thought: '', action: pythonStrip(response) } : { thought: thoughtIn(response), action: '' };
  }
  return { thought: thoughtIn(response.slice(0, marker)), action: pythonStrip(response.slice(marker + 'Action:'.length)) };
}

function thoughtIn(text: string): string {
  const parts = text.split('Thought:', 2);
  return parts[1] === undefined ? text : pythonStrip(parts[1]);
}
