import { z } from 'zod';
import { samplingOptions } from './openai/request.ts';
import type { Policy } from './policy.ts';
import { definePolicy, nonEmpty, PolicySpecError, temperature as runTemperature, type VersionSource } from './policy-entry.ts';
import { isServed } from './served/served-policy.ts';

export interface LivePolicy extends Policy {
  /**
   * Returns the policy by a version at least as new as this one, for good: a group that is collected strictly on-policy walks
   * with one version from its first step to its last.
   */
  pin(version: number, signal: AbortSignal): Promise<Policy>;
}

/** Whether a policy follows its trainer and can be held at a version. */
export function isLive(policy: Policy): policy is LivePolicy {
  return 'pin' in policy;
}

/**
 * Makes a policy that follows its trainer: every act is drawn from the newest version that the source knows, and says which one
 * that was, so that a rollout may go over several versions and each of its spans is stamped with its own. `ref` is the newest
 * version that acted; closing it closes the source.
 */
export async function livePolicy(source: VersionSource, signal: AbortSignal): Promise<LivePolicy> {
  let current = await source.newest(signal);
  const { choosesFrom, temperature } = current;
  function take(policy: Policy): Policy {
    if (policy.ref.version > current.ref.version) current = policy;
    return current;
  }
  return {
    get ref() {
      return current.ref;
    },
    ...(choosesFrom === undefined ? {} : { choosesFrom }),
    temperature,
    async act(request, either) {
      const { ref, act } = take(await source.newest(either));
      return (await act(request, either)).map((each) => ({ ...each, policy: ref }));
    },
    ...(isServed(current)
      ? {
          async forward(body: Readonly<Record<string, unknown>>, either: AbortSignal) {
            const newest = take(await source.newest(either));
            if (isServed(newest)) return newest.forward(body, either);
            throw new TypeError('versions of one policy have one kind of weights');
          },
        }
      : {}),
    pin: async (version, either) => take(await source.atLeast(version, either)),
    close: () => source.close(),
  };
}

/** Makes a policy that acts by one version of a policy that is trained, whatever came after it. */
export async function versionPolicy(source: VersionSource, version: number, signal: AbortSignal): Promise<Policy> {
  const policy = await source.exactly(version, signal);
  return { ...policy, close: () => source.close() };
}

/** The newest version of a policy that is being trained, from act to act, or one of its versions. */
export const live = definePolicy({
  kind: 'live',
  forms: ['live:POLICY', 'live:POLICY@VERSION'],
  options: z.strictObject({
    policyId: nonEmpty.max(200),
    /** Acts by this version for good; by the newest, from act to act, when left out. */
    version: z.int().min(0).optional(),
    temperature: runTemperature.optional(),
    server: nonEmpty.max(1_000).optional(),
    by: nonEmpty.max(1_000).optional(),
    maxTokens: z.int().min(1).optional(),
    stop: z.array(nonEmpty).max(16).optional(),
    maxPromptTokens: z.int().min(1).optional(),
    sampling: samplingOptions.optional(),
  }),
  read(rest = '') {
    const [, policyId, version] = /^(.+)@(\d{1,9})$/.exec(rest) ?? [];
    return policyId === undefined ? { policyId: rest } : { policyId, version: Number(version) };
  },
  async open(spec, { versionsOf, signal = new AbortController().signal }) {
    if (!versionsOf)
      throw new PolicySpecError('kind', 'live follows a trainer, which only a collection into a platform can; name linear:FILE');
    const { policyId, version, temperature, server, by, maxTokens, stop, maxPromptTokens, sampling } = spec;
    const source = versionsOf(policyId, { temperature, server, by, maxTokens, stop, maxPromptTokens, sampling });
    try {
      return await (version === undefined ? livePolicy(source, signal) : versionPolicy(source, version, signal));
    } catch (error) {
      await source.close();
      throw error;
    }
  },
});
