import { truncateCodePoints } from './truncate.ts';

/**
 * Frames tool results as blocks of `<tool_response>`, one a line, each cut at `limit` code points: what the user's turn says in
 * profiles `nous`, `seed` and `v0.1`.
 */
export function frameResponses(results: readonly string[], limit: number): string {
  return results.map((result) => `<tool_response>\n${truncateCodePoints(result, limit)}\n</tool_response>`).join('\n');
}

/**
 * Frames results as profile `nous` writes them behind the model's own tokens: it ends the assistant's turn, says them as the
 * user, and opens the next turn with a thought begun. Nothing at all without a result.
 */
export function frameNous(results: readonly string[], limit: number): string {
  if (results.length === 0) return '';
  return `<|im_end|>\n<|im_start|>user\n${frameResponses(results, limit)}<|im_end|>\n<|im_start|>assistant\n<think>\n`;
}

/** Frames the output of a program as profile `retool` writes it, within the assistant's turn. */
export function frameRetool(result: string, limit: number): string {
  return `\n<interpreter>\n${truncateCodePoints(result, limit)}\n</interpreter>\n`;
}
