import type { ToolProfile } from './plan-turn.ts';

/** One turn of an episode: what the model said, and what it was shown then, empty after its final answer. */
export interface ToolTurn {
  readonly response: string;
  readonly observation: string;
}

/** Writes the observation of a turn as the next user message says it; chat templates put the rest around it. */
export function frameTurn(profile: ToolProfile, results: readonly string[], limit: number): string {
  return profile === 'retool' ? results.map((result) => frameRetool(result, limit)).join('') : frameResponses(results, limit);
}

/**
 * Writes an episode as the one text that Agent-R1's reward functions read: ChatML from the assistant's first turn on. In `retool`
 * the results stand within the one turn; elsewhere each turn is a block of its own, which in `nous` begins with the `<think>`
 * that is written for the model, where it wrote none itself. Its marks within a text are broken, so that neither a document nor a
 * response can pass for a turn and be paid for it.
 * @param profile null for episodes without tools.
 */
export function writeChat(profile: ToolProfile | null, turns: readonly ToolTurn[]): string {
  let chat = '<|im_start|>assistant\n';
  let begun = false;
  for (const turn of turns) {
    const [response, observation] = [withoutMarks(turn.response), withoutMarks(turn.observation)];
    chat += begun && !response.startsWith('<think>') ? `<think>\n${response}` : response;
    begun = profile === 'nous' && observation !== '';
    if (profile === 'retool') chat += observation;
    else if (observation !== '') chat += `<|im_end|>\n<|im_start|>user\n${observation}<|im_end|>\n<|im_start|>assistant\n`;
  }
  return `${chat}${begun ? '<think>\n' : ''}<|im_end|>\n`;
}

function withoutMarks(text: string): string {
  return text.replaceAll('<|im_', '<| im_');
}

/**
 * Frames tool results as blocks of `<tool_response>`, one a line, each cut at `limit` code points: what the user's turn says in
 * profiles `nous`, `seed` and `v0.1`.
 */
function frameResponses(results: readonly string[], limit: number): string {
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

/**
 * Cuts a text behind its first `limit` code points and says so by `...`, as the published tool environments do; a text that is no
 * longer stays as it is. A half surrogate counts as one, as in Python. Reads no further than the cut, however long the text is.
 */
export function truncateCodePoints(text: string, limit: number): string {
  if (text.length <= limit) return text; // no more units, so no more code points
  let at = 0;
  for (let count = 0; count < limit && at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at < text.length ? `${text.slice(0, at)}...` : text;
}
