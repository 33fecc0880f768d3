import { sha256Hex } from '../../../digest/sha256.ts';
import { canonicalJson } from '../../../events/canonical-json.ts';
import { derivedId } from '../../../events/derived-id.ts';
import type { StageOutput } from '../../../projections/experiment-stages/read-stages.ts';
import { readImageTotalsOfRuns } from '../../../projections/images/read-image-totals.ts';
import { type Collection, collect, RunFailed } from '../../collect/collect.ts';
import type { Progress } from '../../collect/collect-run.ts';
import { runDigest } from '../../datasets/run-digest.ts';
import { evaluate } from '../../evaluate/evaluate.ts';
import { rolloutPlan } from './rollout-plan.ts';
import { numbers, outputOf, type StageWork, settle } from './stage-work.ts';

/** Collects rollouts, or searches, as a run whose id follows from the key: a killed one is resumed. @throws RunFailed. */
export async function collectStage(work: StageWork<'collect' | 'search'>): Promise<StageOutput> {
  const { platform, signal } = work;
  const collection = await collectionOf(work);
  const collected = await collect(platform, collection);
  signal.throwIfAborted();
  if (collected.state !== 'completed') throw new RunFailed(collection.runId, collected);
  await settle(platform, signal);
  const { runId } = collection;
  const { digest } = await runDigest(platform, runId);
  const { trees, rollouts, steps, succeeded, failed } = collected;
  const values = numbers({ trees, rollouts, steps, succeeded, failed, ...(await imageValues(work, runId)) });
  return outputOf({ digest, runIds: [runId], values });
}

/** Measures a policy. @throws RunFailed when nothing could be measured. */
export async function evaluateStage(work: StageWork<'evaluate'>): Promise<StageOutput> {
  const { platform, signal } = work;
  const collection = await collectionOf(work);
  const { result, collected } = await evaluate(platform, collection);
  signal.throwIfAborted();
  if (!result) throw new RunFailed(collection.runId, collected);
  await settle(platform, signal);
  const { runId, tasks, episodes, meanReturn, successRate, meanSteps, byDepth, repeatedActions } = result;
  const measured = { tasks, episodes, return: meanReturn, success: successRate, steps: meanSteps };
  const { digest } = await runDigest(platform, runId);
  return outputOf({
    digest: sha256Hex(canonicalJson([digest, measured, byDepth, repeatedActions])),
    runIds: [runId],
    values: numbers({ ...measured, ...(await imageValues(work, runId)) }),
  });
}

async function collectionOf(work: StageWork<'collect' | 'search' | 'evaluate'>): Promise<Collection> {
  const { experimentId, stage, key, seed, concurrency, signal, progress } = work;
  return {
    runId: derivedId('experiment run', key),
    name: stage.name,
    experimentId,
    seed,
    concurrency,
    signal,
    plan: await rolloutPlan(work),
    mode: 'resume',
    progress: (so) => progress(progressText(so)),
  };
}

function progressText({ trees, plannedTrees, rollouts, steps, succeeded }: Progress): string {
  return `${trees}/${plannedTrees} trees, ${rollouts} rollouts, ${steps} steps, ${succeeded} succeeded`;
}

/** What the histories cost as images, and would cost as text, per step. */
async function imageValues({ platform, stage }: StageWork<'collect' | 'search' | 'evaluate'>, runId: string) {
  if (stage.options.prompt?.mode !== 'image') return {};
  const [totals] = await readImageTotalsOfRuns(platform.database.db, [runId]);
  if (!totals || totals.steps === 0) return {};
  const { steps, visionTokens, textTokens, meanFactor } = totals;
  return { 'vision-tokens': visionTokens / steps, 'text-tokens': textTokens / steps, factor: meanFactor };
}
