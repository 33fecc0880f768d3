import { openEnvironment } from '../../environments/open-environment.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { createPolicy, parsePolicyText } from '../../policies/policy-spec.ts';
import type { Db } from '../../postgres/database.ts';
import { isForgotten } from '../../postgres/stream-keys.ts';
import { AmbiguousId } from '../../projections/ambiguous-id.ts';
import { type ForkPoint, readForkPoint } from '../../projections/step-tree/read-fork-point.ts';
import { type CollectPlan, collectPlan } from '../collect/plan.ts';
import { readBeginning } from '../collect/recorded-beginning.ts';
import { policyDifference } from '../collect/same-beginning.ts';
import { ReplayRefused } from '../replay/replay-environment.ts';

/** What a fork changes; what is left out stays as the run had it that it comes from. */
export interface ForkChanges {
  /** The tree of the step, where several have one under its id. */
  readonly tree?: string;
  readonly environment?: string;
  readonly policy?: string;
  readonly rollouts: number;
  /** Steps behind the fork. */
  readonly maxSteps?: number;
  readonly temperature?: number;
}

/**
 * Plans a run that goes on from a recorded step: the same task, the way to the step taken again, and rollouts behind it. Left
 * out, the limit of steps is what the recorded plan leaves behind the step. @throws ReplayRefused when the step is unknown, ends
 * its episode, several trees have it, or its run does not say what a plan needs.
 */
export async function planFork({ database }: Platform, stepId: string, changes: ForkChanges): Promise<CollectPlan> {
  const { db } = database;
  const step = await readForkPoint(db, stepId, changes.tree ?? null).catch((error: unknown) => {
    throw error instanceof AmbiguousId ? new ReplayRefused(error.message) : error;
  });
  if (!step) throw new ReplayRefused(`there is no step ${stepId}; \`espalier tree TREE --ids\` shows the steps of a tree`);
  if (await isForgotten(db, step.treeId))
    throw new ReplayRefused(`the payload of tree ${step.treeId} is forgotten: nothing can go on from step ${stepId}`);
  if (step.termination === 'terminated')
    throw new ReplayRefused(
      `the episode ended at step ${stepId}: nothing can follow; name a step before it, such as ${step.parentStepId}`,
    );
  const recorded = collectPlan.safeParse(step.config).data;
  if (recorded?.chat)
    throw new ReplayRefused(`run ${step.runId} is a chat: what follows its steps is for a person to say; fork another run`);
  if (recorded?.search?.compat)
    throw new ReplayRefused(
      `run ${step.runId} searched by the rules of ${recorded.search.compat.system}, which word what is seen otherwise than a rollout does; fork another run`,
    );
  const environment = changes.environment ?? environmentOf(step.config);
  const policy = changes.policy ?? recorded?.policy;
  if (environment === null)
    throw new ReplayRefused(`run ${step.runId} does not say in which environment it acted; name it with --environment`);
  if (policy === undefined) throw new ReplayRefused(`run ${step.runId} was planned elsewhere; name who goes on with --policy`);
  const maxSteps = changes.maxSteps ?? (recorded ? stepsLeft(recorded, step) : MAX_STEPS);
  if (maxSteps < 1)
    throw new ReplayRefused(
      `the plan of run ${step.runId} leaves no step behind depth ${step.depth}; say how many with --max-steps`,
    );
  await refuseOtherWorld(environment, step, changes.environment !== undefined);
  if (changes.policy === undefined) await refuseOtherPolicy(db, step.runId, policy);
  return collectPlan.parse({
    environment,
    tasks: [
      {
        alias: step.alias,
        rollouts: changes.rollouts,
        branching: 'root',
        behind: { treeId: step.treeId, stepId, steps: step.depth },
      },
    ],
    taskSeed: step.seed,
    policy,
    temperature: changes.temperature ?? recorded?.temperature ?? 1,
    maxSteps,
    search: null,
    ...(recorded?.prompt ? { prompt: recorded.prompt } : {}),
    fork: { runId: step.runId, treeId: step.treeId, stepId },
  });
}

/**
 * Returns how many steps the recorded plan leaves behind a step. Its limit counts what a rollout took itself, from the node where
 * it began: the way to that node, as a fork or a bushy tree has it, costs nothing. A search has a limit of its own for the whole
 * path (`gradeOutcome`): one action more than its depth.
 */
function stepsLeft(
  { maxSteps, search }: CollectPlan,
  { depth, ...step }: Pick<ForkPoint, 'depth' | 'rolloutId' | 'fromDepth'>,
): number {
  if (search) return search.maxDepth + 1 - depth;
  if (step.rolloutId === null) return maxSteps; // the root, or on the way behind which the rollouts begin
  return maxSteps - (depth - (step.fromDepth ?? 0));
}

/**
 * An environment that does not know the task is another world, and so is one of another fingerprint behind the name that the run
 * recorded. One that was named on purpose may differ: what it answers is compared step by step.
 */
async function refuseOtherWorld(
  environment: string,
  step: Pick<ForkPoint, 'alias' | 'environment' | 'serverFingerprint' | 'runId'>,
  onPurpose: boolean,
): Promise<void> {
  const kind = await openEnvironment(environment);
  await kind.close();
  if (!kind.taskAliases.includes(step.alias))
    throw new ReplayRefused(
      `${environment} has no task ${JSON.stringify(step.alias)}: it is not the world that the step was taken in; name that one with --environment`,
    );
  if (onPurpose || (kind.name === step.environment && kind.fingerprint === step.serverFingerprint)) return;
  throw new ReplayRefused(
    `the step was taken in ${step.environment} with the fingerprint ${step.serverFingerprint}, and ${environment} is ${kind.name} with the fingerprint ${kind.fingerprint} now; put back what run ${step.runId} acted in, or name ${environment} with --environment to see where it answers otherwise`,
  );
}

/** @throws ReplayRefused when the policy that the run names is another one now. */
async function refuseOtherPolicy(db: Db, runId: string, named: string): Promise<void> {
  const spec = parsePolicyText(named);
  const began = spec.kind === 'live' ? null : await readBeginning(db, runId); // a live policy is opened by who collects
  if (began === null) return;
  const policy = await createPolicy(spec);
  await policy.close();
  const difference = policyDifference(began, named, policy);
  if (difference) throw new ReplayRefused(`${difference}; put back that file, or name who goes on with --policy`);
}

const MAX_STEPS = 30; // as `collect` has it

function environmentOf(config: unknown): string | null {
  const environment = (config as { readonly environment?: unknown } | null)?.environment; // whatever its producer wrote
  return typeof environment === 'string' ? environment : null;
}
