import { z } from 'zod';
import type { LinearWeights } from './linear/weights.ts';
import { linearPolicy } from './linear-policy.ts';
import type { Policy } from './policy.ts';
import { definePolicy, filled, PolicySpecError, temperature as runTemperature, type VersionSource } from './policy-entry.ts';

export interface LivePolicy extends Policy {
  /**
   * Returns the policy as it is now, for good: a group that is collected strictly on-policy walks with one version from its first
   * step to its last.
   */
  pin(signal: AbortSignal): Promise<Policy>;
}

/**
 * Makes a policy that follows its trainer: every act is drawn from the newest version that the source knows, and says which one
 * that was, so that a rollout may go over several versions and each of its spans is stamped with its own. `ref` is the newest
 * version that acted; closing it closes the source.
 */
export async function livePolicy(
  source: VersionSource,
  { policyId, temperature }: { readonly policyId: string; readonly temperature?: number | undefined },
  signal: AbortSignal,
): Promise<LivePolicy> {
  let current = fixed(await source.newest(signal));
  function fixed(weights: LinearWeights) {
    return { weights, policy: linearPolicy(weights, { policyId, temperature }) };
  }
  async function refresh(either: AbortSignal): Promise<Policy> {
    const weights = await source.newest(either);
    if (weights.version > current.weights.version) current = fixed(weights);
    return current.policy;
  }
  return {
    get ref() {
      return current.policy.ref;
    },
    choosesFrom: 'candidates',
    async act(request, either) {
      const { ref, act } = await refresh(either);
      return (await act(request, either)).map((each) => ({ ...each, policy: ref }));
    },
    pin: refresh,
    close: () => source.close(),
  };
}

/** The newest version of a policy that is being trained, from act to act. */
export const live = definePolicy({
  kind: 'live',
  forms: ['live:POLICY'],
  options: z.strictObject({ policyId: filled.max(200), temperature: runTemperature.optional() }),
  read: (rest = '') => ({ policyId: rest }),
  open: (spec, { versionsOf, signal = new AbortController().signal }) => {
    if (versionsOf) return livePolicy(versionsOf(spec.policyId), spec, signal);
    throw new PolicySpecError('kind', 'live follows a trainer, which only a collection into a platform can; name linear:FILE');
  },
});
