import { frameNous, frameResponses, frameRetool } from './frame-observation.ts';
import type { ToolProfile } from './plan-turn.ts';

/** One turn of an episode: what the model said, and the results that it was shown, none after its final answer. */
export interface ToolTurn {
  readonly response: string;
  readonly results: readonly string[];
}

/** Writes the observation of a turn as the next user message says it; chat templates put the rest around it. */
export function frameTurn(profile: ToolProfile, results: readonly string[], limit: number): string {
  return profile === 'retool' ? results.map((result) => frameRetool(result, limit)).join('') : frameResponses(results, limit);
}

/**
 * Writes an episode as the one text that Agent-R1's reward functions read: ChatML from the assistant's first turn on. In `retool` the results stand within the
 * one turn; elsewhere each turn is a block of its own, without the `<think>` that `nous` writes before the model does, where the model wrote it itself.
 */
export function writeChat(profile: ToolProfile, turns: readonly ToolTurn[], limit: number): string {
  let chat = '<|im_start|>assistant\n';
  for (const { response, results } of turns) {
    const opened = profile === 'nous' && chat.endsWith('<think>\n') && response.startsWith('<think>');
    if (opened) chat = chat.slice(0, -'<think>\n'.length);
    chat += response;
    if (profile === 'retool') chat += frameTurn(profile, results, limit);
    else if (results.length > 0) chat += profile === 'nous' ? frameNous(results, limit) : opened01(results, limit);
  }
  return `${chat}<|im_end|>\n`;
}

function opened01(results: readonly string[], limit: number): string {
  return `<|im_end|>\n<|im_start|>user\n${frameResponses(results, limit)}<|im_end|>\n<|im_start|>assistant\n`;
}
