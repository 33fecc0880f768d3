import { readFile } from 'node:fs/promises';
import { sha256Hex } from '../digest/sha256.ts';
import { decodeWeights, zeroWeights } from './linear/weights.ts';
import { linearPolicy } from './linear-policy.ts';
import { livePolicy, type VersionSource } from './live-policy.ts';
import { openAiPolicy } from './openai-policy.ts';
import { plannerPolicy } from './planner-policy.ts';
import type { Policy } from './policy.ts';
import { type PolicySpec, PolicySpecError } from './policy-spec.ts';
import { randomPolicy } from './random-policy.ts';

/** What a configuration does not hold. */
export interface PolicySecrets {
  readonly apiKey?: string | undefined;
  /** Opens the versions of a policy that is being trained. */
  readonly versionsOf?: (policyId: string) => VersionSource;
  /** Ends the wait for a first version. */
  readonly signal?: AbortSignal;
}

/**
 * Makes the policy that a configuration names. Who calls it closes it.
 * @param secrets.apiKey for the model server; apart from the configuration because that one is recorded with the run.
 * @throws PolicySpecError when the configuration cannot be followed: no such weights file, weights of another feature revision,
 * ….
 */
export async function createPolicy(spec: PolicySpec, secrets: PolicySecrets = {}): Promise<Policy> {
  switch (spec.kind) {
    case 'random':
      return randomPolicy();
    case 'planner':
      return plannerPolicy(spec);
    case 'linear':
      return spec.weightsFile === undefined ? linearPolicy(zeroWeights(), spec) : fromFile(spec.weightsFile, spec);
    case 'live':
      if (!secrets.versionsOf)
        throw new PolicySpecError(
          'kind',
          'live follows a trainer, which only a collection into a platform can; name linear:FILE',
        );
      return livePolicy(secrets.versionsOf(spec.policyId), spec, secrets.signal ?? new AbortController().signal);
    case 'openai':
      return openAiPolicy({ ...spec, apiKey: checkedKey(secrets.apiKey) });
    default:
      return spec satisfies never;
  }
}

async function fromFile(file: string, spec: Extract<PolicySpec, { kind: 'linear' }>): Promise<Policy> {
  try {
    const bytes = await readFile(file);
    return { ...linearPolicy(decodeWeights(bytes), spec), digest: sha256Hex(bytes) };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PolicySpecError(
      'weightsFile',
      `${JSON.stringify(file)} cannot be used: ${why}; name a file that a trainer wrote, or leave it out`,
      { cause },
    );
  }
}

function checkedKey(key: string | undefined): string | undefined {
  if (key === undefined || key === '') return undefined;
  // A header cannot hold other characters, and fetch would report that like a broken connection.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new PolicySpecError('apiKey', 'holds blanks, line ends or characters outside ASCII; copy it again');
  return key;
}
