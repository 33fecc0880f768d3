import { z } from 'zod';
import { createRandom } from '../domain/random/random.ts';
import { actOfCandidate, candidatesOf } from './candidates.ts';
import type { Act, ActRequest, Policy } from './policy.ts';
import { definePolicy, PolicySpecError } from './policy-entry.ts';

/**
 * Makes the policy that plays the environment's own perfect action and, with probability `epsilon`, a uniformly drawn one
 * instead: a source of good trajectories with a known rate of mistakes. Where the environment sees no way to the goal it draws
 * too. Of n candidates the first is chosen that way and the others are distinct, in a drawn order; they repeat when n is larger
 * than the choice.
 */
export function plannerPolicy({ epsilon }: { readonly epsilon: number }): Policy {
  if (!(epsilon >= 0 && epsilon <= 1)) throw new RangeError(`epsilon is a probability from 0 to 1, not ${epsilon}`);
  return {
    ref: { policyId: epsilon === 0 ? 'planner' : `planner-${epsilon}`, version: 0 },
    choosesFrom: 'plan',
    repeats: true,
    async act(request, signal) {
      signal.throwIfAborted();
      const random = createRandom(request.seed);
      const errs = random.next() < epsilon;
      const expert = await request.expertAction();
      signal.throwIfAborted();
      const others = expert !== null && !request.admissibleActions?.length ? [] : candidatesOf(request, 'planner');
      const order = random.shuffle([...new Set(others)]);
      if (expert !== null) {
        // A drawn mistake may by chance be the expert's action, as "uniformly random" says; with nothing to draw from there is no
        // mistake.
        if (!errs || order.length === 0) moveToFront(order, expert);
        else if (!order.includes(expert)) order.push(expert);
      }
      // never empty: a candidate or the expert's action
      return Array.from({ length: request.n }, (_, i) => planned(request, order[i % order.length] as string, expert));
    },
    async close() {},
  };
}

function moveToFront(order: string[], action: string): void {
  const at = order.indexOf(action);
  if (at >= 0) order.splice(at, 1);
  order.unshift(action);
}

function planned(request: ActRequest, action: string, expert: string | null): Act {
  return actOfCandidate(
    request,
    action === expert ? 'This is the next step of the plan.' : 'I try something beside the plan.',
    action,
  );
}

const wrong = 'must be a probability from 0 to 1';

export const planner = definePolicy({
  kind: 'planner',
  forms: ['planner', 'planner:EPSILON'],
  options: z.strictObject({ epsilon: z.number().min(0, wrong).max(1, wrong).default(0) }),
  read: (rest) => {
    if (rest === undefined) return {};
    if (/^(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)$/.test(rest)) return { epsilon: Number(rest) };
    throw new PolicySpecError(
      'epsilon',
      `must be a number from 0 to 1, not ${JSON.stringify(rest)}; write for example planner:0.2`,
    );
  },
  open: plannerPolicy,
});
