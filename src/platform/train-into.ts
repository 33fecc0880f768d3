import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createAppender } from '../append/appender.ts';
import { allOrStop } from '../collect/all-or-stop.ts';
import { chooseTasks } from '../collect/choose-tasks.ts';
import type { Progress } from '../collect/collect-run.ts';
import type { CollectPlan } from '../collect/plan.ts';
import { createRandom } from '../domain/random/random.ts';
import { seedFrom } from '../domain/random/seed-from.ts';
import type { EnvironmentKind } from '../environments/environment.ts';
import { openEnvironment } from '../environments/open-environment.ts';
import { TOPICS } from '../events/catalogue.ts';
import { canonicalJson } from '../events/codec.ts';
import { derivedId } from '../events/derived-id.ts';
import { type Ledger, readLedgers } from '../projections/training-pool/read-ledger.ts';
import { type LineageRecord, readLineages } from '../projections/training-pool/read-lineages.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import type { Logger } from '../runtime/logger.ts';
import { linearBackend } from '../training/backends/linear/linear-backend.ts';
import { declareTraining } from '../training/batcher/declare-training.ts';
import { keepCheckpoint } from '../training/checkpoints/checkpoint-store.ts';
import type { Trained, Trouble } from '../training/train-loop.ts';
import { batch } from './batch.ts';
import { CODE_VERSION } from './code-version.ts';
import { collectInto, lockRun } from './collect-into.ts';
import { nextSequence } from './next-sequence.ts';
import { openDesk } from './open-desk.ts';
import type { Platform } from './open-platform.ts';
import { TrainingRefused } from './train-admission-for.ts';
import { type EvaluatedVersion, evaluateVersions } from './train-evaluations.ts';
import { rulesOf, type TrainPlan } from './train-plan.ts';
import { trainPolicy } from './train-policy.ts';

export interface Training {
  readonly plan: TrainPlan;
  /** Groups at a time; as many as a batch takes, or more where staleness allows it. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly onCollect?: (progress: Progress) => void;
  readonly onUpdate?: (trained: Trained) => void;
  readonly onTrouble?: (trouble: Trouble) => void;
  readonly onEvaluation?: (evaluated: EvaluatedVersion) => void;
}

export interface TrainedPolicy {
  readonly policyId: string;
  readonly runId: string;
  readonly version: number;
  /** SHA-256 of the newest weights, hex. */
  readonly weights: string;
  readonly ledger: Ledger;
  /** By version, where the plan evaluates; empty when the signal ended it before. */
  readonly evaluations: readonly EvaluatedVersion[];
}

const CATCH_UP_MS = 120_000;

/**
 * Trains a policy from its first version to the planned one: collector, batcher and trainer at work together in this process, each of them able to die and go on, and the
 * results measured on other tasks. A projector must be running. All ids and seeds follow from the plan: begun again after a kill, it goes on where the record ends and comes to
 * the same weights (strictly on-policy). @throws TrainingRefused when the policy is declared with another plan or another process trains it; what collector and trainer throw.
 */
export async function trainInto(platform: Platform, training: Training): Promise<TrainedPolicy> {
  const { plan, signal } = training;
  const lock = await lockRun(platform, derivedId('train', plan.policyId));
  const kind = await openEnvironment(plan.environment);
  try {
    await settle(platform, signal);
    await declare(platform, plan);
    const runId = derivedId('train run', plan.policyId);
    await collectAndTrain(platform, training, await planCollection(kind, plan), runId);
    const evaluations = signal.aborted ? [] : await evaluateVersions(platform, training, kind);
    await settle(platform, signal.aborted ? undefined : signal);
    const [lineage, ledger] = [
      await lineageOf(platform, plan.policyId),
      (await readLedgers(platform.database.db, [plan.policyId]))[0],
    ];
    if (!lineage || !ledger) throw new Error(`policy ${plan.policyId} was declared and is gone`);
    const { db } = platform.database;
    const newest = await db
      .selectFrom('policy_versions')
      .select(['version', 'weights'])
      .where('policy_id', '=', plan.policyId)
      .orderBy('version', 'desc')
      .executeTakeFirstOrThrow();
    return { policyId: plan.policyId, runId, version: newest.version, weights: newest.weights, ledger, evaluations };
  } finally {
    await kind.close();
    await lock.release();
  }
}

/** Says how the policy is trained, and makes its first version; both are recognised when they were said before. */
async function declare(platform: Platform, plan: TrainPlan): Promise<void> {
  const { database, log, blobs } = platform;
  const { objective } = plan.settings;
  const estimator = objective.kind === 'policy-gradient' ? objective.estimator : { name: 'grpo', options: { singleton: 'raw' } }; // cloning takes any closed group
  const trainer = { backend: 'linear', settings: plan.settings };
  const rules = rulesOf(plan);
  const known = await lineageOf(platform, plan.policyId);
  if (known) {
    const same = canonicalJson([known.rules, known.trainer, known.seed]) === canonicalJson([rules, trainer, plan.seed]);
    if (!same)
      throw new TrainingRefused(
        `the policy ${plan.policyId} is trained by another plan; repeat its options, or name another policy`,
      );
  } else {
    const appender = createAppender({
      ...{ log, blobs, producer: { name: 'trainer', version: CODE_VERSION }, clock: Date.now },
      sequenceOf: (stream) => nextSequence(database.db, 'trainer', stream),
    });
    await declareTraining(appender, { policyId: plan.policyId, estimator, rules, seed: plan.seed, trainer });
  }
  const backend = linearBackend();
  const first = await backend.initial(seedFrom('initial', plan.policyId));
  const kept = await keepCheckpoint(blobs, first);
  const weights = createHash('sha256').update(backend.weightsOf(first)).digest('hex');
  const answer = await openDesk(platform).registerPolicy({ policyId: plan.policyId, backend: backend.name, weights, kept });
  if (answer.kind === 'refused') throw new TrainingRefused(`${answer.message}; ${answer.remedy}`);
  await settle(platform);
}

const SPARE = 12; // groups that are planned for each one that a batch takes: rejected ones are replaced, and tasks cost nothing until they begin

/** Plans the groups: the tasks of the split in a seeded order, again and again, more than will be wanted. */
async function planCollection(kind: EnvironmentKind, plan: TrainPlan): Promise<CollectPlan> {
  const tasks = await chooseTasks(kind, plan.tasks ?? kind.taskAliases.length, plan.taskSeed, plan.split);
  if (tasks.length === 0)
    throw new TrainingRefused(`${plan.environment} has no task of the split ${plan.split}; leave --split out for all`);
  const random = createRandom(seedFrom('train tasks', plan.seed));
  const wanted = plan.updates * plan.groupsPerBatch * SPARE;
  const rounds = Array.from({ length: Math.ceil(wanted / tasks.length) }, (_, round) => random.fork(round).shuffle(tasks));
  const { policyId, mode, maxStaleness, updates } = plan;
  return {
    environment: plan.environment,
    tasks: rounds
      .flat()
      .slice(0, wanted)
      .map(({ alias }) => ({ alias, rollouts: plan.groupSize, branching: 'root' })),
    ...{
      taskSeed: plan.taskSeed,
      policy: `live:${policyId}`,
      temperature: plan.temperature,
      maxSteps: plan.maxSteps,
      search: null,
    },
    training: { policyId, channel: 'train', mode, maxStaleness: mode === 'strict' ? 0 : maxStaleness, untilVersion: updates },
  };
}

async function collectAndTrain(platform: Platform, training: Training, plan: CollectPlan, runId: string): Promise<void> {
  const { policyId, seed, updates } = training.plan;
  const done = new AbortController();
  const batcher = await batch(platform, training.logger);
  try {
    let collected = false;
    await allOrStop(AbortSignal.any([training.signal, done.signal]), [
      async (signal) => {
        await Promise.race([
          batcher.finished,
          new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
        ]);
      },
      async (signal) => {
        await collectInto(platform, {
          ...{ runId, name: `train ${policyId}`, seed: seedFrom('train', seed), plan, signal, mode: 'resume' },
          concurrency: training.concurrency,
          ...(training.onCollect ? { progress: training.onCollect } : {}),
        });
        collected = true;
        if (!signal.aborted) await untilDrained(platform, training.plan, signal);
        done.abort(); // all that was collected is trained
      },
      async (signal) => {
        await trainPolicy(platform, {
          ...{ policyId, consumer: 'espalier train', untilVersion: updates, signal },
          ...(training.onUpdate ? { onUpdate: training.onUpdate } : {}),
          ...(training.onTrouble ? { onTrouble: training.onTrouble } : {}),
        });
        while (!collected && !signal.aborted) await delay(20); // it sees the last version, and ends its run
      },
    ]);
  } finally {
    await batcher.close();
  }
}

/** Waits until the last version is there, or until every batch that could be planned from a run whose tasks are used up is trained. */
async function untilDrained(platform: Platform, { policyId, updates }: TrainPlan, signal: AbortSignal): Promise<void> {
  for (let quiet = 0; quiet < QUIET_LOOKS && !signal.aborted; ) {
    await settle(platform, signal);
    const lineage = await lineageOf(platform, policyId);
    if ((lineage?.newestVersion ?? 0) >= updates) return;
    quiet = lineage?.planned === lineage?.trained ? quiet + 1 : 0;
    await delay(QUIET_MS, undefined, { signal }).catch(() => undefined);
  }
}

const QUIET_MS = 1_000;
const QUIET_LOOKS = 5; // the planner looks at least every 2 s

async function lineageOf({ database }: Platform, policyId: string): Promise<LineageRecord | undefined> {
  return (await readLineages(database.db, [policyId]))[0];
}

async function settle({ database, log }: Platform, signal?: AbortSignal): Promise<void> {
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, ...(signal ? { signal } : {}) });
}
