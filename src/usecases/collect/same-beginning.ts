import type { EnvironmentKind } from '../../environments/environment.ts';
import type { DataOf } from '../../events/catalogue.ts';
import type { Policy } from '../../policies/policy.ts';
import { parsePolicyText } from '../../policies/policy-spec.ts';
import type { CollectPlan } from './plan.ts';

type Beginning = Pick<DataOf<'RunStarted'>, 'runId' | 'environments' | 'policy' | 'policyDigest'>;

/**
 * Compares what a run began with and what its plan opens now: a plan names a world and a policy, and behind the same name may be
 * another. Names the first difference with both digests; null when there is none.
 */
export function differenceFrom(began: Beginning, plan: CollectPlan, kind: EnvironmentKind, policy: Policy): string | null {
  return worldDifference(began, plan.environment, kind) ?? policyDifference(began, plan.policy, policy);
}

/** Describes how the world that a run began in differs from the one that is open; null when it does not. */
export function worldDifference({ runId, environments }: Beginning, named: string, kind: EnvironmentKind): string | null {
  const [began] = environments;
  if (!began || environments.some((each) => each.environment === kind.name && each.fingerprint === kind.fingerprint)) return null;
  return `run ${runId} began in ${began.environment} with the fingerprint ${began.fingerprint}, and ${named} is ${kind.name} with the fingerprint ${kind.fingerprint} now: its recipes, tasks, tools, corpus or server were changed${restartCause(kind)}`;
}

/** Describes what makes an environment another world when its server is started again, behind a reason. */
export function restartCause({ restartCause: cause }: Pick<EnvironmentKind, 'restartCause'>): string {
  return cause === undefined ? '' : ` (${cause})`;
}

/**
 * Describes how the policy that a run began with differs from the one that is open; null when it does not, or follows a trainer.
 */
export function policyDifference(
  { runId, policy: began, policyDigest }: Beginning,
  named: string,
  policy: Policy,
): string | null {
  const spec = parsePolicyText(named);
  // every act of a policy that follows its trainer names its own version
  if (began === null || (spec.kind === 'live' && spec.version === undefined)) return null;
  if (policyDigest !== undefined && policyDigest !== policy.digest)
    return `run ${runId} began with the policy ${named} of SHA-256 ${policyDigest}, and that file has ${policy.digest ?? 'none'} now`;
  const { policyId, version } = policy.ref;
  if (began.policyId === policyId && began.version === version) return null;
  return `run ${runId} began with version ${began.version} of the policy ${began.policyId}, and ${named} is version ${version} of ${policyId} now`;
}
