import { createHash } from 'node:crypto';
import type { Appender } from '../append/appender.ts';
import type { EnvironmentKind } from '../environments/environment.ts';
import { resetAsRecorded } from '../environments/reset-as-recorded.ts';
import { derivedId } from '../events/derived-id.ts';
import type { Policy } from '../policies/policy.ts';
import type { Admission } from './admission.ts';
import { allOrStop } from './all-or-stop.ts';
import { AnotherWorld } from './another-world.ts';
import { collectTree, type Surroundings, treeIdOf } from './collect-tree.ts';
import type { CollectPlan, PlannedTask } from './plan.ts';
import type { ReadPrefix } from './play-prefix.ts';
import { registration } from './prompting/history-drafts.ts';
import type { Prompter } from './prompting/prompter.ts';
import type { RecordedRun } from './recorded-run.ts';

export interface CollectOptions {
  readonly runId: string;
  readonly name: string;
  readonly seed: number;
  readonly plan: CollectPlan;
  /** The experiment that the run belongs to; it must have been declared. */
  readonly experimentId?: string | null;
  readonly codeVersion: string;
  readonly kind: EnvironmentKind;
  readonly policy: Policy;
  readonly appender: Appender;
  /** What the record holds of this run already; empty for a new one. */
  readonly recorded: RecordedRun;
  /** Reads the rollout that a planned task goes on behind; needed only where the plan has such tasks. */
  readonly readPrefix?: ReadPrefix;
  readonly surroundings?: Surroundings;
  /** Holds groups back until they may begin; without it every group begins when there is a hand free. */
  readonly admission?: Admission;
  /** Composes the prompts; there when the plan has a `prompt`. */
  readonly prompter?: Prompter;
  /** Trees collected at a time. */
  readonly concurrency: number;
  readonly clock: () => number;
  readonly signal: AbortSignal;
  readonly progress?: (progress: Progress) => void;
}

export interface Progress {
  readonly trees: number;
  readonly plannedTrees: number;
  readonly rollouts: number;
  readonly plannedRollouts: number;
  readonly steps: number;
  readonly succeeded: number;
  /** Trees that were closed as failed: the environment did not repeat what was recorded in them. */
  readonly failedTrees: number;
}

/**
 * Collects the rollouts of a run: every event is appended as it happens and is durable before the next action is chosen. All seeds are
 * derived from (run seed, task, rollout, step) and all ids from what they name, so a run that was killed goes on where its record ends and
 * reaches the trees it would have reached. @throws what makes going on senseless (an unreachable model, a lost log); the run stays
 * resumable; AnotherWorld when a task opens otherwise than in an open tree of the record. An aborted signal ends it after the steps in hand.
 */
export async function collectRun(options: CollectOptions): Promise<Progress> {
  const { runId, plan, recorded, appender } = options;
  await refuseOtherOpenings(options);
  if (!recorded.started)
    await appender.append([startOf(options), ...(options.prompter ? registration(options.prompter, runId) : [])]);
  const progress = {
    trees: 0,
    plannedTrees: plan.tasks.length,
    rollouts: 0,
    plannedRollouts: plan.tasks.reduce((sum, task) => sum + task.rollouts, 0),
    steps: 0,
    succeeded: 0,
    failedTrees: 0,
  };
  const report = () => options.progress?.({ ...progress });
  const queue = plan.tasks.entries();

  let turn: Promise<unknown> = Promise.resolve();
  async function begin(task: PlannedTask, index: number, signal: AbortSignal) {
    const { admission } = options;
    if (!admission) return { tree: await recorded.tree(runId, index), admitted: undefined };
    // In the order of the plan, reading included: which groups begin must not depend on whose record was read first.
    const own = turn.then(async () => {
      const tree = await recorded.tree(runId, index);
      return { tree, admitted: tree?.closed ? undefined : await admission.admit(treeIdOf(runId, task, index), signal) };
    });
    turn = own.catch(() => undefined); // who is told is the caller
    return own;
  }

  async function work(signal: AbortSignal): Promise<void> {
    for (const [index, task] of queue) {
      if (signal.aborted) return;
      const { tree, admitted } = await begin(task, index, signal);
      if (admitted === null) return; // nobody wants another group
      await collectTree({
        ...options,
        ...(admitted ? { policy: admitted } : {}),
        signal,
        task,
        tree,
        treeIndex: index,
        onStep: () => {
          progress.steps++;
          report();
        },
        onRollout: (success) => {
          progress.rollouts++;
          if (success) progress.succeeded++;
          report();
        },
        onFailed: () => {
          progress.failedTrees++;
          report();
        },
      });
      if (!signal.aborted) progress.trees++;
      report();
    }
  }

  const workers = Array.from({ length: Math.min(options.concurrency, plan.tasks.length) }, () => work);
  await allOrStop(options.signal, workers);
  if (!options.signal.aborted && !recorded.finished) await appender.append([endOf(options, progress)]);
  return progress;
}

/** @throws AnotherWorld when a tree that a resumed run would go on with opens otherwise now: its prompts and steps would be of two worlds. */
async function refuseOtherOpenings({ runId, recorded, kind, plan }: CollectOptions): Promise<void> {
  for (const { treeId, alias, seed, observation } of recorded.open) {
    const environment = await kind.create();
    try {
      const { kind: compared, opening } = await resetAsRecorded(environment, { alias, seed }, observation);
      if (compared === 'same') continue;
      throw new AnotherWorld(
        `run ${runId} cannot go on: task ${alias} of its open tree ${treeId} opened with ${digestOf(observation)}, and ${plan.environment} opens it with ${digestOf(opening.observation)} now; put back the environment that the run began in, or begin a new run`,
      );
    } finally {
      await environment.close();
    }
  }
}

const SHOWN = 120; // characters: enough to see which text it is

function digestOf(observation: string): string {
  const sha256 = createHash('sha256').update(observation.toWellFormed()).digest('hex');
  return `${JSON.stringify(observation.slice(0, SHOWN).toWellFormed())}${observation.length > SHOWN ? '…' : ''} (SHA-256 ${sha256.slice(0, 16)}…)`;
}

function startOf({
  runId,
  experimentId = null,
  name,
  seed,
  plan,
  codeVersion,
  kind,
  policy,
}: CollectOptions): Parameters<Appender['append']>[0][number] {
  return {
    type: 'RunStarted',
    id: derivedId('RunStarted', runId),
    correlationId: runId,
    data: {
      runId,
      experimentId,
      name,
      kind: plan.fork ? 'fork' : plan.evaluation ? 'evaluate' : plan.search ? 'search' : 'collect',
      seed,
      codeVersion,
      config: plan,
      environments: [{ environment: kind.name, fingerprint: kind.fingerprint }],
      policy: policy.ref,
      ...(policy.digest === undefined ? {} : { policyDigest: policy.digest }),
    },
  };
}

function endOf({ runId }: CollectOptions, progress: Progress): Parameters<Appender['append']>[0][number] {
  const { trees, rollouts, steps } = progress;
  const message = failedTreesText(progress) ?? '';
  return {
    type: 'RunFinished',
    id: derivedId('RunFinished', runId),
    correlationId: runId,
    data: { runId, outcome: 'completed', message, trees, rollouts, steps },
  };
}

/** Says how many trees failed, and why; null when none did. */
export function failedTreesText({ failedTrees, plannedTrees }: Progress): string | null {
  if (failedTrees === 0) return null;
  return `${failedTrees} of ${plannedTrees} trees failed: the environment did not repeat what was recorded in them`;
}
