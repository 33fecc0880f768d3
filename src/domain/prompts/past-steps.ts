import type { PastStep } from './prompt-template.ts';

/**
 * Turns an episode as a policy is asked (the opening, then each action with the observation that followed) into what a prompt is
 * composed from: each action with what the agent saw when it chose it, and what it sees now.
 */
export function pastSteps(
  firstObservation: string,
  history: readonly { readonly action: string; readonly observation: string }[],
): { readonly steps: readonly PastStep[]; readonly observation: string } {
  let observation = firstObservation;
  const steps = history.map((turn) => {
    const step = { observation, action: turn.action };
    observation = turn.observation;
    return step;
  });
  return { steps, observation };
}
