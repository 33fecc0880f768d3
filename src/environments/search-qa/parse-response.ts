import { projectResponse } from '../../domain/prompts/project-response.ts';
import type { ParsedResponse } from '../environment.ts';

/**
 * Splits a response by the published rules for Search. The labels of the policies that pick (`Thought:`, `Action:`) are no part
 * of the thought.
 */
export function parseResponse(response: string): ParsedResponse {
  const { action, thought, valid } = projectResponse('search-qa', response, { compression: false });
  return { thought: withoutLabel(thought.replace(/^Thought:\s*/, '')), action, wellFormatted: valid };
}

/**
 * Takes off a final `Action:` with the blanks around it; as a pattern (`\s*Action:\s*$`) it takes quadratic time on a run of
 * blanks.
 */
function withoutLabel(thought: string): string {
  const end = thought.trimEnd();
  return end.endsWith('Action:') ? end.slice(0, -'Action:'.length).trimEnd() : thought;
}
