import type { EnvironmentKind, TaskStart } from '../../environments/environment.ts';
import type { DataOf } from '../../events/catalogue.ts';
import type { Policy } from '../../policies/policy.ts';
import { parsePolicyText } from '../../policies/policy-spec.ts';
import { withFault } from './environment-fault.ts';
import type { CollectPlan } from './plan.ts';

/** The policy cannot act in the environment: every rollout would fail at its first step. */
export class PolicyUnfit extends Error {
  override readonly name = 'PolicyUnfit';
}

/** Returns the environment as a policy acts in it: for one that chooses from a list, what is possible is asked for. */
export function candidatesFor(kind: EnvironmentKind, { choosesFrom }: Pick<Policy, 'choosesFrom'>): EnvironmentKind {
  return (choosesFrom === undefined ? undefined : kind.withHints?.()) ?? kind;
}

const LOOKS = 3; // one task may have no way to its goal; of several, an environment that plans has one for some

/**
 * Opens the first tasks of a plan, and refuses a policy that has nothing to choose from in any of them. Policies that write their
 * actions themselves fit everywhere, and nothing is opened for them. @throws PolicyUnfit with the remedy.
 */
export async function refuseUnfit(
  given: EnvironmentKind,
  { ref, choosesFrom }: Pick<Policy, 'ref' | 'choosesFrom'>,
  { tasks, taskSeed }: { readonly tasks: readonly { readonly alias: string }[]; readonly taskSeed: number },
): Promise<void> {
  if (choosesFrom === undefined || tasks.length === 0) return;
  const kind = candidatesFor(given, { choosesFrom });
  for (const alias of [...new Set(tasks.map((task) => task.alias))].slice(0, LOOKS)) {
    const seen = await withFault(whatFits(kind, { alias, seed: taskSeed }, choosesFrom));
    if (seen !== 'nothing') return; // what cannot be opened, or does not say, says nothing of the policy
  }
  const lacks =
    choosesFrom === 'plan' ? 'has no planner for its tasks and lists no admissible actions' : 'lists no admissible actions';
  throw new PolicyUnfit(
    `the policy ${ref.policyId} cannot act in ${kind.name}: the environment ${lacks}; use a policy that writes its actions (openai:MODEL@URL), or an environment that lists them (textcraft)`,
  );
}

/** Returns whether there is something that a policy may choose from where a task begins. */
async function whatFits(kind: EnvironmentKind, task: TaskStart, from: Policy['choosesFrom']): Promise<'something' | 'nothing'> {
  const environment = await kind.create();
  try {
    if ((await environment.reset(task)).admissibleActions !== null) return 'something';
    return from === 'plan' && ((await environment.expertAction?.()) ?? null) !== null ? 'something' : 'nothing';
  } finally {
    await environment.close();
  }
}

/** The environment that was opened is not the one that the record comes from: other words, or other rules. */
export class AnotherWorld extends Error {
  override readonly name = 'AnotherWorld';
}

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
