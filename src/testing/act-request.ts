import type { ActRequest } from '../policies/policy.ts';

/** Builds a request to a policy: a small crafting task at its opening, one act, seed 1, temperature 1. */
export function anActRequest(changes: Partial<ActRequest> = {}): ActRequest {
  return {
    goal: 'stick',
    instruction: 'You craft things. Answer with a thought and an action.',
    firstObservation:
      'Crafting commands:\ncraft 4 oak planks using 1 oak logs\ncraft 4 stick using 2 planks\ncraft 1 bread using 3 wheat\n\nGoal: craft stick.',
    history: [],
    admissibleActions: [
      'inventory',
      'get 1 wheat',
      'get 1 oak logs',
      'craft 4 oak planks using 1 oak logs',
      'craft 4 stick using 2 planks',
      'craft 1 bread using 3 wheat',
    ],
    expertAction: async () => 'get 1 oak logs',
    seed: 1,
    n: 1,
    temperature: 1,
    ...changes,
  };
}
