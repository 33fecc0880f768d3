import { seedFrom } from '../../domain/random/seed-from.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readRun } from '../../projections/runs/read-runs.ts';
import { surveysFolder } from '../collect/choose-tasks.ts';
import { throwIfFailed } from '../collect/collect.ts';
import { type CollectPlan, collectPlan } from '../collect/plan.ts';
import { evaluate } from '../evaluate/evaluate.ts';
import { isOwn } from './declaration/trainer-of.ts';
import { chooseTestTasks } from './train-begin.ts';
import { actingPolicy, backendOf, promptOf, type TrainPlan } from './train-plan.ts';
import type { EvaluatedVersion, Training } from './training.ts';

/**
 * Evaluates the first version, the last and each `every` between, all by the same draws; of a trainer elsewhere the last alone. A
 * version that was evaluated before is read from the record.
 * @param last the newest version there is: fewer than planned where the tasks were used up before. @throws RunFailed when every
 * rollout of one failed.
 */
export async function evaluateVersions(
  platform: Platform,
  { plan, concurrency, signal, onEvaluation }: Training,
  kind: EnvironmentKind,
  last: number,
): Promise<readonly EvaluatedVersion[]> {
  const { evaluation, policyId } = plan;
  if (evaluation === null) return [];
  const aliases = await chooseTestTasks(kind, plan, surveysFolder(platform.config.home));
  const evaluated: EvaluatedVersion[] = [];
  // of a trainer elsewhere only the weights that its server holds now can act
  const first = isOwn(backendOf(plan)) ? 0 : last;
  for (let version = first; version <= last; version = version === last ? last + 1 : Math.min(last, version + evaluation.every)) {
    const runId = derivedId('train evaluation', policyId, version);
    const { result, collected } = await evaluate(platform, {
      runId,
      name: `evaluate ${policyId} ${version}`,
      seed: seedFrom('train evaluation', plan.seed),
      concurrency,
      signal,
      mode: 'resume',
      // one that was begun before is gone on with as it was planned then
      plan: (await plannedBefore(platform, runId)) ?? evaluationOf(plan, evaluation, aliases, version),
    });
    throwIfFailed(runId, collected);
    if (!result) break; // the signal ended it
    evaluated.push({ version, evaluation: result });
    onEvaluation?.({ version, evaluation: result });
  }
  return evaluated;
}

async function plannedBefore({ database }: Platform, runId: string): Promise<CollectPlan | null> {
  const run = await readRun(database.db, runId);
  return collectPlan.safeParse(run?.config).data ?? null;
}

function evaluationOf(
  plan: TrainPlan,
  { split, rollouts }: NonNullable<TrainPlan['evaluation']>,
  aliases: readonly string[],
  version: number,
): CollectPlan {
  const { environment, policyId, taskSeed, temperature, maxSteps } = plan;
  const prompt = promptOf(plan);
  return {
    environment,
    taskSeed,
    temperature,
    maxSteps,
    policy: actingPolicy(plan, version),
    search: null,
    tasks: aliases.map((alias) => ({ alias, rollouts, branching: 'root' })),
    ...(prompt ? { prompt } : {}),
    evaluation: { split, recoverFrom: null, resamples: 1_000, trained: null },
    training: { policyId, channel: 'held-out', mode: 'strict', maxStaleness: 0, untilVersion: null },
  };
}
