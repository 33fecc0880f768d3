import { join } from 'node:path';
import { seedFrom } from '../../domain/random/seed-from.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { decodeWeights } from '../../policies/linear/weights.ts';
import { linearBackend } from '../../training/backends/linear/linear-backend.ts';
import { readCheckpoint } from '../../training/checkpoints/checkpoint-store.ts';
import { readHead } from '../../training/versions/read-heads.ts';
import { chooseTasks } from '../collect/choose-tasks.ts';
import { RunFailed } from '../collect/collect.ts';
import { evaluate } from '../evaluate/evaluate.ts';
import type { EvaluatedVersion, Training } from './training.ts';
import { writeWeights } from './weights-file.ts';

/**
 * Evaluates the first version, the last and each `every` between, all by the same draws. A version that was evaluated before is
 * read from the record.
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
  const aliases = (await chooseTasks(kind, evaluation.tasks, plan.taskSeed, evaluation.split)).map(({ alias }) => alias);
  const evaluated: EvaluatedVersion[] = [];
  for (let version = 0; version <= last; version = version === last ? last + 1 : Math.min(last, version + evaluation.every)) {
    const policy = JSON.stringify({ kind: 'linear', weightsFile: await weightsFileOf(platform, policyId, version), policyId });
    const runId = derivedId('train evaluation', policyId, version);
    const { result, collected } = await evaluate(platform, {
      runId,
      ...{
        name: `evaluate ${policyId} ${version}`,
        seed: seedFrom('train evaluation', plan.seed),
        concurrency,
        signal,
        mode: 'resume',
      },
      plan: {
        environment: plan.environment,
        tasks: aliases.map((alias) => ({ alias, rollouts: evaluation.rollouts, branching: 'root' })),
        ...{ taskSeed: plan.taskSeed, policy, temperature: plan.temperature, maxSteps: plan.maxSteps, search: null },
        evaluation: { split: evaluation.split, recoverFrom: null, resamples: 1_000, trained: null },
        training: { policyId, channel: 'held-out', mode: 'strict', maxStaleness: 0, untilVersion: null },
      },
    });
    if (collected.state === 'failed') throw new RunFailed(runId, collected);
    if (!result) break; // the signal ended it
    evaluated.push({ version, evaluation: result });
    onEvaluation?.({ version, evaluation: result });
  }
  return evaluated;
}

async function weightsFileOf({ database, blobs, config }: Platform, policyId: string, version: number): Promise<string> {
  const backend = linearBackend();
  const bytes = await readCheckpoint(blobs, backend, await readHead(database.db, policyId, version));
  return (await writeWeights(join(config.home, 'weights'), decodeWeights(backend.weightsOf(bytes)))).path;
}
