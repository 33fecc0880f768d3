import type { EnvironmentKind } from '../../environments/environment.ts';
import type { Policy } from '../../policies/policy.ts';
import { orFault } from './environment-fault.ts';

/** The policy cannot act in the environment: every rollout would fail at its first step. */
export class PolicyUnfit extends Error {
  override readonly name = 'PolicyUnfit';
}

/** Returns the environment as a policy acts in it: for one that chooses from a list, what is possible is asked for. */
export function asChosenFrom(kind: EnvironmentKind, { choosesFrom }: Pick<Policy, 'choosesFrom'>): EnvironmentKind {
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
  const kind = asChosenFrom(given, { choosesFrom });
  for (const alias of [...new Set(tasks.map((task) => task.alias))].slice(0, LOOKS)) {
    const environment = await kind.create();
    try {
      const opening = await orFault(environment.reset({ alias, seed: taskSeed }));
      if ('reason' in opening || opening.admissibleActions !== null) return; // what cannot be opened says nothing of the policy
      if (choosesFrom === 'plan' && ((await environment.expertAction?.()) ?? null) !== null) return;
    } finally {
      await environment.close();
    }
  }
  const lacks =
    choosesFrom === 'plan' ? 'has no planner for its tasks and lists no admissible actions' : 'lists no admissible actions';
  throw new PolicyUnfit(
    `the policy ${ref.policyId} cannot act in ${kind.name}: the environment ${lacks}; use a policy that writes its actions (openai:MODEL@URL), or an environment that lists them (textcraft)`,
  );
}
