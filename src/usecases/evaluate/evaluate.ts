import { BOOTSTRAP_DEFAULTS } from '../../domain/evaluation/bootstrap-interval.ts';
import { measureEpisodes } from '../../domain/evaluation/measure-episodes.ts';
import { createRandom } from '../../domain/random/random.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import {
  type EvaluationRecord,
  readEpisodes,
  readEvaluations,
  readFailures,
} from '../../projections/evaluations/read-evaluations.ts';
import { readRun, readRunsById } from '../../projections/runs/read-runs.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { type Collection, collect } from '../collect/collect.ts';
import type { CollectedRun } from '../collect/collect-run.ts';
import { RunRefused } from '../collect/hold-run.ts';
import { collectPlan, type PlannedTask } from '../collect/plan.ts';

const CATCH_UP_MS = 60_000;

export interface EvaluationResult {
  readonly collected: CollectedRun;
  /**
   * Null when the signal ended the rollouts, and the evaluation stays resumable, or when every rollout failed, and there is
   * nothing to measure: `collected.state` says which.
   */
  readonly result: EvaluationRecord | null;
}

/**
 * Evaluates a policy: collects the planned rollouts as a run of kind `evaluate`, measures them from the read models, and records
 * the result as an event whose id follows from the run. A projector must be running. An evaluation that was killed anywhere goes
 * on where its record ends and comes to the same result. A run that failed is not measured: its failures say nothing of what the
 * policy achieves.
 * @throws RunRefused when the plan is not one of an evaluation, or no episode came to an end.
 */
export async function evaluate(platform: Platform, collection: Collection): Promise<EvaluationResult> {
  if (!collection.plan.evaluation || collection.plan.search)
    throw new RunRefused(`the plan of run ${collection.runId} is to collect, not to evaluate`);
  const collected = await collect(platform, collection);
  if (collected.state === 'stopped') return { collected, result: null };
  await settle(platform);
  if (collected.state !== 'completed') return { collected, result: null };
  const { db } = platform.database;
  const [recorded] = await readEvaluations(db, [collection.runId]);
  if (recorded) return { collected, result: recorded };
  await record(platform, collection);
  await settle(platform);
  const [result] = await readEvaluations(db, [collection.runId]);
  if (!result) throw new RunRefused(`the result of run ${collection.runId} was set aside; \`espalier quarantine list\` says why`);
  return { collected, result };
}

async function record(platform: Platform, { runId, plan, seed }: Collection): Promise<void> {
  const { db } = platform.database;
  const run = await readRun(db, runId);
  if (!run) throw new RunRefused(`there is no run ${runId}; \`espalier status\` lists the runs`);
  const episodes = await readEpisodes(db, runId);
  if (episodes.length === 0) throw new RunRefused(`run ${runId} has no finished rollout to measure`);
  const bootstrap = {
    confidence: BOOTSTRAP_DEFAULTS.confidence,
    resamples: plan.evaluation?.resamples ?? BOOTSTRAP_DEFAULTS.resamples,
    seed: seedFrom('bootstrap', seed),
  };
  const recoverFrom = plan.evaluation?.recoverFrom ?? null;
  const { repeatedActions, byDepth, ...measures } = measureEpisodes(episodes, bootstrap);
  await openAppender(platform, 'evaluator').append([
    {
      type: 'EvaluationFinished',
      id: derivedId('EvaluationFinished', runId),
      correlationId: runId,
      causationId: derivedId('RunFinished', runId),
      data: {
        runId,
        policy: { policyId: run.policy?.id ?? 'unknown', version: run.policy?.version ?? 0 },
        environment: run.environments[0]?.environment ?? plan.environment,
        split: plan.evaluation?.split ?? null,
        ...measures,
        bootstrap,
        repeatedActions: [...repeatedActions],
        byDepth: [...byDepth],
        recovery: recoverFrom === null ? null : { fromRunId: recoverFrom },
        trained: plan.evaluation?.trained ?? null,
      },
    },
  ]);
}

async function settle({ log, database }: Platform): Promise<void> {
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: CATCH_UP_MS });
}

/** Which failures an evaluation goes on behind. */
interface Recovery {
  readonly runId: string;
  /** As it was named, for messages. */
  readonly environment: string;
  readonly seed: number;
  readonly taskSeed: number;
  /** Episodes behind each failed rollout. */
  readonly rollouts: number;
}

/**
 * Cuts every failed rollout of a run at a step drawn from the seed, and plans to go on behind it. @throws RunRefused where there
 * is no such run, or one of another world, or nothing to go on behind.
 */
export async function planRecovery(
  { database, log }: Platform,
  kind: EnvironmentKind,
  { runId, environment, seed, taskSeed, rollouts }: Recovery,
): Promise<PlannedTask[]> {
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: CATCH_UP_MS });
  const [run] = await readRunsById(database.db, [runId]);
  if (!run) throw new RunRefused(`--recover-from: there is no run ${runId}; \`espalier status\` lists the runs`);
  if (!run.environments.some((each) => each.environment === kind.name && each.fingerprint === kind.fingerprint))
    throw new RunRefused(
      `--recover-from: run ${runId} was in another world than ${environment}; name its own with --environment`,
    );
  const drawn = collectPlan.safeParse(run.config).data?.taskSeed ?? taskSeed;
  if (drawn !== taskSeed) throw new RunRefused(`--recover-from: the tasks of run ${runId} were drawn with --task-seed ${drawn}`);
  const failures = await readFailures(database.db, runId);
  if (failures.length === 0) throw new RunRefused(`--recover-from: run ${runId} has no failed rollout of two steps or more`);
  return failures.map(({ treeId, rolloutId, alias, steps }) => {
    const cut = 1 + createRandom(seedFrom('recover', seed, rolloutId)).int(steps - 1);
    return { alias, rollouts, branching: 'root', behind: { treeId, rolloutId, steps: cut } };
  });
}
