import { textReader } from '../../blobs/read-text.ts';
import { openEnvironment } from '../../environments/open-environment.ts';
import { observationText } from '../../environments/same-observation.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { createPolicy, parsePolicyText } from '../../policies/policy-spec.ts';
import type { Db } from '../../postgres/database.ts';
import { isForgotten } from '../../postgres/stream-keys.ts';
import { AmbiguousId } from '../../projections/ambiguous-id.ts';
import type { OfTree } from '../../projections/of-tree.ts';
import { isReplayRecorded } from '../../projections/replays/read-replays.ts';
import { readRunTotals } from '../../projections/runs/read-run-totals.ts';
import { readRun } from '../../projections/runs/read-runs.ts';
import { type ForkPoint, readForkedStep, readForkPoint } from '../../projections/step-tree/read-fork-point.ts';
import { readRecordedPath } from '../../projections/step-tree/read-recorded-path.ts';
import { readTree } from '../../projections/step-tree/read-trees.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { type Collection, collect } from '../collect/collect.ts';
import type { CollectedRun } from '../collect/collect-run.ts';
import { treeIdOf } from '../collect/collect-tree.ts';
import { type CollectPlan, collectPlan } from '../collect/plan.ts';
import { PrefixDiverged } from '../collect/play-prefix.ts';
import { readBeginning } from '../collect/recorded-run.ts';
import { policyDifference } from '../collect/refuse-unfit.ts';
import { ReplayRefused } from '../replay/replay-environment.ts';
import { Comparison, type ReplayReport, recordReplay } from '../replay/replay-report.ts';

export type ForkOptions = Omit<Collection, 'mode' | 'experimentId'>;

export interface ForkResult {
  /** How the way to the step compares; null when the signal came before it was known. */
  readonly report: ReplayReport | null;
  /** What was collected behind it; null when the way differed, or in a resume of such a run. */
  readonly progress: CollectedRun | null;
}

const CATCH_UP_MS = 60_000;
const OTHERWISE = 'the environment did not repeat what was recorded on the way to the step that the run goes on from';

/** The step at which the environment itself ended the episode, as it did the first time, and the one before it. */
interface OwnEnd {
  readonly stepId: string;
  readonly before: string | null;
}

function describeEnd({ stepId, before }: OwnEnd): string {
  const earlier = before === null ? 'a step before it' : `a step before it, such as ${before}`;
  return `the environment itself cuts the episode at step ${stepId}, by a limit of its own: nothing can follow; go on from ${earlier}`;
}

/**
 * Starts a run that goes on from a recorded step (`planFork`), or goes on with it where its record ends: the way to the step is
 * executed again in the fork's own tree, everything the environment says compared, and the rollouts begin behind it. Where the
 * environment answers otherwise, or its state is another, the run ends there as failed. What was compared is put on record at the
 * run that it was forked from, once. A projector must be running.
 */
export async function fork(platform: Platform, forking: ForkOptions): Promise<ForkResult> {
  const { runId, plan, signal } = forking;
  const [task] = plan.tasks;
  const { fork } = plan;
  if (!fork || !task) throw new ReplayRefused(`the plan of run ${runId} does not say what it goes on from`);
  const began = Date.now();
  const treeId = treeIdOf(runId, task, 0);
  await settle(platform, signal);
  let progress: CollectedRun | null = null;
  if (!(await isDiverged(platform, treeId))) {
    try {
      progress = await collect(platform, { ...forking, mode: 'resume' });
    } catch (error) {
      if (!(error instanceof PrefixDiverged)) throw error;
    }
  }
  if (signal.aborted) return { report: null, progress };
  await settle(platform, signal);
  const { comparison, end } = await compareWays(platform, { treeId: fork.treeId, id: fork.stepId }, treeId);
  if (progress === null) {
    await endAsFailed(platform, runId, end === null ? OTHERWISE : describeEnd(end));
    comparison.note(
      end === null
        ? `run ${runId} ended where the environment answered otherwise: nothing follows from there`
        : `run ${runId} has no rollouts: ${describeEnd(end)}`,
    );
  }
  const report = comparison.report();
  const seconds = (Date.now() - began) / 1_000;
  const parameters = {
    run: runId,
    from: fork.stepId,
    policy: plan.policy,
    temperature: plan.temperature,
    maxSteps: plan.maxSteps,
  };
  const replayId = derivedId('fork', runId);
  if (!(await isReplayRecorded(platform.database.db, fork.runId, replayId)))
    await recordReplay(platform, { runId: fork.runId, replayId, report, parameters, seconds });
  return { report, progress };
}

/** Whether the way was found to differ before: then its tree is closed as failed, without a failure of the environment. */
async function isDiverged({ database }: Platform, treeId: string): Promise<boolean> {
  const tree = await readTree(database.db, treeId);
  return tree?.closeReason === 'failed' && tree.closeFault === null;
}

/** Compares the way to the fork, step by step, as both trees have it. `end`: where both were cut by the environment. */
async function compareWays(
  { database, blobs }: Platform,
  from: OfTree,
  treeId: string,
): Promise<{ readonly comparison: Comparison; readonly end: OwnEnd | null }> {
  const comparison = new Comparison('fork');
  const text = textReader(blobs);
  const recorded = await readRecordedPath(database.db, from, text);
  const end = await readForkedStep(database.db, treeId);
  const again = end === null ? [] : await readRecordedPath(database.db, { treeId, id: end }, text);
  for (const [depth, step] of recorded.entries()) {
    const other = again[depth];
    if (!other) break; // behind the first difference nothing was done
    const eventId = depth === 0 ? derivedId('TreeOpened', treeId) : derivedId('StepTaken', step.stepId);
    const part = (field: string, before: unknown, after: unknown) => ({
      at: { eventId, stepId: step.stepId, field },
      recorded: before,
      replayed: after,
    });
    // by a limit of its plan, which this one has not
    const cut = step.termination === 'truncated' && other.termination === 'none';
    comparison.compareParts([
      part('observation', observationText(step), observationText(other)),
      part('reward', step.reward, other.reward),
      ...(cut ? [] : [part('termination', step.termination, other.termination)]),
      ...(step.stateHash !== null && other.stateHash !== null ? [part('stateHash', step.stateHash, other.stateHash)] : []),
    ]);
  }
  const isCut = again.length === recorded.length && again.at(-1)?.termination === 'truncated' && comparison.differing === 0;
  return { comparison, end: isCut ? { stepId: from.id, before: recorded.at(-2)?.stepId ?? null } : null };
}

/** Ends a run whose way differed. Said again it changes nothing. */
async function endAsFailed(platform: Platform, runId: string, message: string): Promise<void> {
  const { db } = platform.database;
  const run = await readRun(db, runId);
  if (!run) throw new ReplayRefused(`there is no run ${runId}; \`espalier status\` lists the runs`);
  if (run.finishedAt !== null) return;
  const [totals] = await readRunTotals(db, [runId]);
  await openAppender(platform, 'replayer').append([
    {
      type: 'RunFinished',
      id: derivedId('RunFinished', runId),
      correlationId: runId,
      data: { runId, outcome: 'failed', message, trees: 1, rollouts: 0, steps: totals?.steps ?? 0 },
    },
  ]);
  await settle(platform);
}

async function settle({ database, log }: Platform, signal?: AbortSignal): Promise<void> {
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, ...(signal ? { signal } : {}) });
}

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
