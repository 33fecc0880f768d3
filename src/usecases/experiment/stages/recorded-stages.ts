import { createAppender } from '../../../append/appender.ts';
import { sha256Hex } from '../../../digest/sha256.ts';
import { canonicalJson } from '../../../events/canonical-json.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { CODE_VERSION } from '../../../platform/code-version.ts';
import type { StageOutput } from '../../../projections/experiment-stages/read-stages.ts';
import { RunFailed } from '../../collect/collect.ts';
import { RunRefused } from '../../collect/hold-run.ts';
import { runDigest } from '../../datasets/digest-trees.ts';
import { parseAgentTrajOptions } from '../../datasets/import/agent-traj-options.ts';
import { importTrajectories } from '../../datasets/import/import-trajectories.ts';
import { fork, planFork } from '../../fork/fork.ts';
import { score } from '../../score/score.ts';
import { numbers, outputOf, type StageWork, settle, usedBy } from './stage-work.ts';

/**
 * Scores the rollouts of another stage's run. The rewards are facts of that run: every arm that shares it sees them from then on.
 */
export async function scoreStage(work: StageWork<'score'>): Promise<StageOutput> {
  const { platform, signal, turns } = work;
  const { scorer: named, component } = work.stage.options;
  const source = usedBy(work, 'of');
  const runId = source.runIds.at(-1) ?? '';
  const asked = { runId, scorer: named, component: component ?? null, environment: null, signal };
  const { scorer, component: written, ...counts } = await turns(runId, () => score(platform, asked));
  signal.throwIfAborted();
  await settle(platform, signal);
  return outputOf({
    digest: sha256Hex(canonicalJson([source.digest, scorer, written])),
    runIds: [...source.runIds],
    values: numbers({ ...source.values, ...counts }),
  });
}

/** Goes on from a recorded step. @throws RunRefused where the way to it differs; RunFailed; ReplayRefused. */
export async function forkStage(work: StageWork<'fork'>): Promise<StageOutput> {
  const { platform, key, seed, stage, concurrency, signal, progress, turns } = work;
  const { from, tree, rollouts, maxSteps, temperature, policy } = stage.options;
  await settle(platform, signal);
  const plan = await planFork(platform, from, {
    rollouts,
    ...(tree === undefined ? {} : { tree }),
    ...(policy === undefined ? {} : { policy }),
    ...(maxSteps === undefined ? {} : { maxSteps }),
    ...(temperature === undefined ? {} : { temperature }),
  });
  const runId = derivedId('experiment run', key);
  const origin = plan.fork?.runId ?? runId;
  const { report, progress: collected } = await turns(origin, () =>
    fork(platform, {
      runId,
      name: stage.name,
      seed,
      plan,
      concurrency,
      signal,
      progress: (so) => progress(`${so.rollouts} rollouts, ${so.steps} steps, ${so.succeeded} succeeded`),
    }),
  );
  signal.throwIfAborted();
  if (report?.outcome !== 'equal' || collected === null)
    throw new RunRefused(
      `the way to step ${from} was not repeated: ${report?.notes.join('; ') || 'the environment answers otherwise'}`,
    );
  if (collected.state !== 'completed') throw new RunFailed(runId, collected);
  await settle(platform, signal);
  const { digest } = await runDigest(platform, runId);
  const { trees, steps, succeeded, failed } = collected;
  return outputOf({
    digest,
    runIds: [runId],
    values: numbers({ trees, rollouts: collected.rollouts, steps, succeeded, failed }),
  });
}

/** Takes trajectories over from a file: the runs that it holds, or one that follows from its content. @throws DatasetError. */
export async function importStage(work: StageWork<'import'>): Promise<StageOutput> {
  const { platform, stage, signal, progress, turns } = work;
  const { file, form, environmentName, fingerprint, split, policy, rewardScale, recordedAt } = stage.options;
  const agentTraj = parseAgentTrajOptions({
    environment: environmentName,
    serverFingerprint: fingerprint,
    split,
    policy,
    recordedAt,
    rewardScale: rewardScale === undefined ? undefined : String(rewardScale),
  });
  const { log, blobs, stamp, database } = platform;
  const { runs, trees, rollouts, steps } = await turns('imports', () =>
    importTrajectories({
      source: file,
      form,
      db: database.db,
      blobs,
      badRows: 'refuse',
      agentTraj,
      signal,
      appender: createAppender({ log, blobs, stamp, producer: { name: 'importer', version: CODE_VERSION }, clock: Date.now }),
      onProgress: (so) => progress(so.kind === 'checking' ? `checking: ${so.events} events` : `${so.done} of ${so.total} events`),
    }),
  );
  await settle(platform, signal);
  const digests = await Promise.all(runs.map((runId) => runDigest(platform, runId)));
  return outputOf({
    digest: sha256Hex(canonicalJson(digests.map(({ digest }) => digest))),
    runIds: [...runs],
    values: numbers({ trees, rollouts, steps }),
  });
}
