import { setTimeout as delay } from 'node:timers/promises';
import { openEnvironment } from '../../environments/open-environment.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readAwaitingGreedy } from '../../projections/training-pool/read-greedy-siblings.ts';
import { type Ledger, readLedgers } from '../../projections/training-pool/read-ledger.ts';
import { type LineageRecord, readLineages } from '../../projections/training-pool/read-lineages.ts';
import { readNewestUpdate } from '../../projections/training-pool/read-policy-updates.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { rest } from '../../runtime/retry.ts';
import { followVersions } from '../../training/versions/train-versions.ts';
import { allOrStop } from '../collect/all-or-stop.ts';
import type { CollectedRun } from '../collect/collect-run.ts';
import { collectWithRetry } from '../collect/collect-with-retry.ts';
import { whileHeld } from '../collect/hold-run.ts';
import type { CollectPlan } from '../collect/plan.ts';
import { type BatchOptions, batch } from './batcher/run-batcher.ts';
import { isOwn } from './declaration/trainer-of.ts';
import { beginTraining, comparesWithGreedy, type PlannedRun } from './train-begin.ts';
import { evaluateVersions } from './train-evaluations.ts';
import { backendOf, type TrainPlan } from './train-plan.ts';
import { trainPolicy } from './train-policy.ts';
import type { TrainedPolicy, Training } from './training.ts';

const CATCH_UP_MS = 120_000;

/**
 * Trains a policy from its first version to the planned one: collector, batcher and trainer at work together in this process,
 * each of them able to die and go on, and the results measured on other tasks. A projector must be running. All ids and seeds
 * follow from the plan: begun again after a kill, it goes on where the record ends and comes to the same weights (strictly
 * on-policy). Where the tasks are used up before the planned version, it ends with the newest there is.
 * @throws TrainingRefused when the policy is declared with another plan or another process trains it; PolicyUnfit; RunFailed when
 * every rollout of an evaluation failed; what collector and trainer throw.
 */
export function train(platform: Platform, training: Training): Promise<TrainedPolicy> {
  const held = derivedId('train', training.plan.policyId);
  return whileHeld(platform, held, training.signal, (signal) => trainHeld(platform, { ...training, signal }));
}

async function trainHeld(platform: Platform, training: Training): Promise<TrainedPolicy> {
  const { plan, signal } = training;
  const kind = await openEnvironment(plan.environment);
  // a model server is shared as long as somebody holds it: not opened again for each of the runs
  const versions = followVersions(platform, plan.policyId, { server: plan.server, by: plan.by });
  try {
    await settle(platform, signal);
    const run = await beginTraining(platform, plan, kind, signal);
    const { runId } = run;
    if (!signal.aborted) await versions.newest(new AbortController().signal); // there is one: it waits for nothing
    const { failure, failures, mostFailed } = await collectAndTrain(platform, training, run);
    await settle(platform, signal.aborted ? undefined : signal);
    const { db } = platform.database;
    const newest = await readNewestUpdate(db, plan.policyId);
    if (!newest) throw new Error(`policy ${plan.policyId} was begun and has no version`);
    const { version, weights } = newest;
    const evaluations = signal.aborted || failure !== null ? [] : await evaluateVersions(platform, training, kind, version);
    await settle(platform, signal.aborted ? undefined : signal);
    const [ledger] = await readLedgers(db, [plan.policyId]);
    if (!ledger) throw new Error(`policy ${plan.policyId} was declared and is gone`);
    const trained = { policyId: plan.policyId, runId, version, weights, ledger, evaluations, failures, mostFailed };
    if (signal.aborted) return { ...trained, state: 'stopped', message: '' };
    if (failure !== null) return { ...trained, state: 'failed', message: failure };
    if (version >= plan.updates) return { ...trained, state: 'completed', message: '' };
    return {
      ...trained,
      state: 'tasks-used-up',
      message: `tasks used up at version ${version} of ${plan.updates}: ${whatBecame(ledger)}`,
    };
  } finally {
    await versions.close();
    await kind.close();
  }
}

/** Returns what its run says at its end when that failed, and what share of its rollouts did. */
async function collectAndTrain(
  platform: Platform,
  training: Training,
  run: PlannedRun,
): Promise<Pick<TrainedPolicy, 'failures' | 'mostFailed'> & { readonly failure: string | null }> {
  const { policyId, updates } = training.plan;
  const done = new AbortController();
  const batcher = training.batcher ?? (await batch(platform, training.logger));
  try {
    let collected: CollectedRun | undefined;
    let drained = false;
    const greedy = comparesWithGreedy(training.plan.settings) ? { begun: 0, idle: 0 } : null;
    await allOrStop(AbortSignal.any([training.signal, done.signal]), [
      async (signal) => {
        if (signal.aborted) return; // it was stopped before it began, and no abort will come any more
        await Promise.race([
          batcher.finished,
          new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
        ]);
      },
      async (signal) => {
        const ended = await collectWithRetry(platform, {
          ...run,
          signal,
          concurrency: training.concurrency,
          ...(training.onCollect ? { progress: training.onCollect } : {}),
          onFault: (error) => training.logger.warn('collecting waits', { error }),
          async failure() {
            await untilDrained(platform, batcher, training.plan, greedy, signal);
            drained = true;
            return signal.aborted ? null : untrained(platform, training.plan);
          },
        });
        collected = ended;
        if (!signal.aborted && !drained) await untilDrained(platform, batcher, training.plan, greedy, signal);
        done.abort(); // all that was collected is trained
      },
      async (signal) => {
        if (isOwn(backendOf(training.plan)))
          await trainPolicy(platform, {
            policyId,
            consumer: 'espalier train',
            untilVersion: updates,
            signal,
            ...(training.onUpdate ? { onUpdate: training.onUpdate } : {}),
            ...(training.onTrouble ? { onTrouble: training.onTrouble } : {}),
            onFault: (error) => training.logger.warn('training waits', { error }),
          });
        while (!collected && !signal.aborted) await delay(20); // it sees the last version, and ends its run
      },
      async (signal) => {
        if (greedy === null) return;
        const onFault = (error: unknown) => training.logger.warn('collecting greedy rollouts waits', { error });
        await collectGreedy(platform, { policyId, run, concurrency: training.concurrency, onFault, looks: greedy }, signal);
      },
    ]);
    const { state, failed = 0, message = '', mostFailed = false } = collected ?? {};
    return { failure: state === 'failed' ? message : null, failures: failed > 0 ? message : '', mostFailed };
  } finally {
    if (batcher !== training.batcher) await batcher.close();
  }
}

/**
 * Waits until the last version is there, or until every batch that follows from a run whose tasks are used up is planned and
 * trained.
 */
async function untilDrained(
  platform: Platform,
  batcher: BatchOptions,
  { policyId, updates }: TrainPlan,
  greedy: GreedyLooks | null,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await settle(platform, signal);
    if (greedy) await untilIdle(greedy, signal); // what a group is compared with comes first
    const { kind } = await batcher.planNow(policyId, signal).catch((error: unknown) => {
      if (signal.aborted) return { kind: 'busy' };
      throw error;
    });
    const lineage = await lineageOf(platform, policyId);
    if ((lineage?.newestVersion ?? 0) >= updates) return;
    if (kind === 'idle' && (lineage === undefined || lineage.planned === lineage.trained + lineage.abandoned)) return;
    await rest(LOOK_MS, signal);
  }
}

/** Waits until a look that begins from now on finds no group without a greedy rollout. */
async function untilIdle(greedy: GreedyLooks, signal: AbortSignal): Promise<void> {
  const { begun } = greedy;
  while (greedy.idle <= begun && !signal.aborted) await rest(LOOK_MS, signal);
}

/** Describes why nothing was ever trained, with the reasons counted; null when something was. */
async function untrained(platform: Platform, { policyId }: TrainPlan): Promise<string | null> {
  const lineage = await lineageOf(platform, policyId);
  if ((lineage?.newestVersion ?? 0) > 0) return null;
  const [ledger] = await readLedgers(platform.database.db, [policyId]);
  return `no sample was trained: ${ledger ? whatBecame(ledger) : 'none was produced'}`;
}

/** What became of the samples, in a line: the refused ones by reason, the most first. */
function whatBecame({ produced, trained, rejected, owed }: Ledger): string {
  const reasons = Object.entries(rejected).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const left = owed.group + owed.ready + owed.planned + owed.leased;
  const parts = [
    `${trained} of ${produced} samples trained`,
    ...reasons.map(([reason, samples]) => `${samples} rejected: ${reason}`),
    ...(left > 0 ? [`${left} too few for another batch`] : []),
  ];
  return parts.join('; ');
}

const LOOK_MS = 200; // between two looks at what is still to be trained

async function lineageOf({ database }: Platform, policyId: string): Promise<LineageRecord | undefined> {
  return (await readLineages(database.db, [policyId]))[0];
}

async function settle({ database, log }: Platform, signal?: AbortSignal): Promise<void> {
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, ...(signal ? { signal } : {}) });
}

const COLLECTED_LOOK_MS = 100; // a look is two statements over the open groups of the policy

/**
 * Collects the greedy rollouts that an estimator compares groups with (ReMax), until the signal: one of each task whose group is
 * closed, by the version that the group was collected with, in runs of the channel `baseline`. Strictly on-policy no version
 * comes between: its batch waits for these rollouts. The runs are named by the groups they serve: one that was killed goes on.
 */
async function collectGreedy(
  platform: Platform,
  { policyId, run, concurrency, onFault, looks }: GreedyCollection,
  signal: AbortSignal,
): Promise<void> {
  const asked = new Set<string>(); // a group whose greedy rollout failed is not asked for again by this process
  while (!signal.aborted) {
    const look = ++looks.begun;
    const waiting = (await readAwaitingGreedy(platform.database.db, policyId)).filter(({ treeId }) => !asked.has(treeId));
    if (waiting.length === 0) looks.idle = look;
    else {
      const trees = waiting.map(({ treeId }) => treeId);
      await collectWithRetry(platform, {
        runId: derivedId('greedy run', policyId, ...trees),
        name: `greedy ${policyId}`,
        seed: run.seed,
        plan: planOf(run.plan, policyId, [...new Set(waiting.map(({ alias }) => alias))]),
        concurrency,
        signal,
        onFault,
      });
      for (const treeId of trees) asked.add(treeId);
    }
    await rest(COLLECTED_LOOK_MS, signal);
  }
}

/** Ordinals of looks, from 1, for who waits until a look that began later finds nothing to do. */
interface GreedyLooks {
  begun: number;
  idle: number;
}

interface GreedyCollection {
  readonly policyId: string;
  /** The run that collects the groups. */
  readonly run: PlannedRun;
  readonly concurrency: number;
  readonly onFault: (error: unknown) => void;
  /** Counted on by the looks. */
  readonly looks: GreedyLooks;
}

function planOf(plan: CollectPlan, policyId: string, aliases: readonly string[]): CollectPlan {
  return {
    ...plan,
    temperature: 0,
    tasks: aliases.map((alias) => ({ alias, rollouts: 1, branching: 'root' as const })),
    training: { policyId, channel: 'baseline', mode: 'strict', maxStaleness: 0, untilVersion: null },
  };
}
