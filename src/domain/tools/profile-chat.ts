import { frameResponses, frameRetool } from './frame-observation.ts';
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
