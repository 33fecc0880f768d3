import { z } from 'zod';
import { createRandom } from '../domain/random/random.ts';
import { actOfCandidate, candidatesOf } from './candidates.ts';
import type { Policy } from './policy.ts';
import { definePolicy, PolicySpecError } from './policy-entry.ts';

/**
 * Makes the policy that draws every act uniformly and independently from the admissible actions; the floor to compare others
 * with.
 */
export function randomPolicy(): Policy {
  return {
    ref: { policyId: 'random', version: 0 },
    choosesFrom: 'candidates',
    repeats: true,
    async act(request, signal) {
      signal.throwIfAborted();
      const candidates = candidatesOf(request, 'random');
      const random = createRandom(request.seed);
      return Array.from({ length: request.n }, () =>
        actOfCandidate(request, `I draw one of ${candidates.length} possible actions.`, random.choice(candidates)),
      );
    },
    async close() {},
  };
}

export const random = definePolicy({
  kind: 'random',
  forms: ['random'],
  options: z.strictObject({}),
  read: (rest) => {
    if (rest === undefined) return {};
    throw new PolicySpecError('random', `takes nothing after it, not ${JSON.stringify(rest)}; write random`);
  },
  open: () => randomPolicy(),
});
