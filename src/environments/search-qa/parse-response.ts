import { projectResponse } from '../../domain/prompts/project-response.ts';
import type { ParsedResponse } from '../environment.ts';

/** Splits a response by the published rules for Search. The labels of the policies that pick (`Thought:`, `Action:`) are no part of the thought. */
export function parseResponse(response: string): ParsedResponse {
  const { action, thought, valid } = projectResponse('search-qa', response, { compression: false });
  const bare = thought.replace(/^Thought:\s*/, '').replace(/\s*Action:\s*$/, '');
  return { thought: bare, action, wellFormatted: valid };
}
