import type { Appender } from '../../append/appender.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { resetAsRecorded } from '../../environments/reset-as-recorded.ts';
import { observationText, shownText } from '../../environments/same-observation.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Policy } from '../../policies/policy.ts';
import { forEachOf } from './all-or-stop.ts';
import { collectTree, treeIdOf } from './collect-tree.ts';
import { describeFailures, type FailureReason, failureTally, withFault } from './environment-fault.ts';
import type { Overrides, ReadPrefix } from './growing-tree.ts';
import type { CollectPlan, PlannedTask } from './plan.ts';
import { registration } from './prompting/history-drafts.ts';
import type { Prompter } from './prompting/prompt-plan.ts';
import type { RecordedRun } from './recorded-run.ts';
import { AnotherWorld, restartCause } from './refuse-unfit.ts';
import type { Admission } from './train-admission.ts';

export interface CollectOptions {
  readonly runId: string;
  readonly name: string;
  readonly seed: number;
  readonly plan: CollectPlan;
  /** The experiment that the run belongs to; it must have been declared. */
  readonly experimentId?: string | null;
  readonly codeVersion: string;
  /** By which the studio shows steps of the run; the environment's own when left out. */
  readonly renderer?: string;
  readonly kind: EnvironmentKind;
  readonly policy: Policy;
  readonly appender: Appender;
  /** What the record holds of this run already; empty for a new one. */
  readonly recorded: RecordedRun;
  /** Reads the rollout that a planned task goes on behind; needed only where the plan has such tasks. */
  readonly readPrefix?: ReadPrefix;
  readonly overrides?: Overrides;
  /** Holds groups back until they may begin; without it every group begins when there is a hand free. */
  readonly admission?: Admission;
  /** Composes the prompts; there when the plan has a `prompt`. */
  readonly prompter?: Prompter;
  /** Trees collected at a time. */
  readonly concurrency: number;
  readonly clock: () => number;
  readonly signal: AbortSignal;
  readonly progress?: (progress: Progress) => void;
  /** Asked before the end is recorded: why the run failed although its rollouts did not; null when it did not fail. */
  readonly failure?: () => Promise<string | null>;
}

export interface Progress {
  readonly trees: number;
  readonly plannedTrees: number;
  readonly rollouts: number;
  /** Null in a search: how many ends it finds depends on what it meets. */
  readonly plannedRollouts: number | null;
  readonly steps: number;
  readonly succeeded: number;
  /** Trees that were closed as failed: the environment did not repeat what was recorded in them. */
  readonly failedTrees: number;
  /** Rollouts that could not go on; in a run that searches, the searches that could not take one step. */
  readonly failed: number;
}

/** What a run came to. */
export interface CollectedRun extends Progress {
  /**
   * `stopped`: the signal came before the end. `interrupted`: what the environment asks was away, and the rollouts that met that
   * are left open. Both can be resumed. Otherwise as the end of the run is recorded.
   */
  readonly state: 'completed' | 'failed' | 'cancelled' | 'stopped' | 'interrupted';
  /** What is recorded at its end, or would be: the share that failed and why; empty when nothing did. */
  readonly message: string;
  /** More than half of what was collected failed. */
  readonly mostFailed: boolean;
  /**
   * Answers of a search, or whole rollouts, that this process compared with episodes from the opening; null where nothing is to be
   * compared.
   */
  readonly comparisons: number | null;
  /** Those of them that differed in an environment that answers equal actions otherwise each time: nothing follows. */
  readonly undecided: number;
  readonly reasons: readonly FailureReason[];
}

/**
 * Collects the rollouts of a run: every event is appended as it happens and is durable before the next action is chosen. All
 * seeds are derived from (run seed, task, rollout, step) and all ids from what they name, so a run that was killed goes on where
 * its record ends and reaches the trees it would have reached. A run of which nothing could go on, or in which a task opened
 * otherwise than was recorded of it, ends as failed, with the reasons counted. One in which rollouts were left open has no end.
 * @throws what makes going on senseless (an unreachable model, a lost log); the run stays resumable; AnotherWorld when a task
 * opens otherwise than in an open tree of the record. An aborted signal ends it after the steps in flight.
 */
export async function collectRun(options: CollectOptions): Promise<CollectedRun> {
  const { runId, plan, recorded, appender } = options;
  await refuseOtherOpenings(options);
  const recordedEnd = await recorded.takeOver();
  if (!recorded.started)
    await appender.append([startOf(options), ...(options.prompter ? registration(options.prompter, runId) : [])]);
  const progress = {
    trees: 0,
    plannedTrees: plan.tasks.length,
    rollouts: 0,
    plannedRollouts: plan.search ? null : plan.tasks.reduce((sum, task) => sum + task.rollouts, 0),
    steps: 0,
    succeeded: 0,
    failedTrees: 0,
    failed: 0,
  };
  const tally = failureTally();
  const away = failureTally();
  let [comparisons, undecided] = [0, 0];
  let unopened = 0; // rollouts, or searches, of which nothing is recorded
  let openedOtherwise = false;
  const report = () => options.progress?.({ ...progress });

  let turn: Promise<unknown> = Promise.resolve();
  async function begin(task: PlannedTask, index: number, signal: AbortSignal) {
    const { admission } = options;
    if (!admission) return { tree: await recorded.tree(runId, index), admitted: undefined };
    // In the order of the plan, reading included: which groups begin must not depend on whose record was read first.
    const own = turn.then(async () => {
      const tree = await recorded.tree(runId, index);
      return { tree, admitted: tree?.closed ? undefined : await admission.admit(treeIdOf(runId, task, index), signal) };
    });
    turn = own.catch(() => undefined); // the caller gets the error
    return own;
  }

  await forEachOf(orderOf(options), options, async ([index, task], signal) => {
    const { tree, admitted } = await begin(task, index, signal);
    if (admitted === null) return 'stop'; // nobody wants another group
    const onLost = (reason: string) => {
      const lost = plan.search ? 1 : task.rollouts;
      unopened += lost;
      tally.add(reason, lost);
      progress.failed += lost;
      report();
    };
    await collectTree({
      ...options,
      ...(admitted ? { policy: admitted } : {}),
      onClosing: () => options.admission?.closing(treeIdOf(runId, task, index)),
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
      onFailed: (at) => {
        progress.failedTrees++;
        openedOtherwise ||= at === 'opening';
        report();
      },
      onFailure: (reason) => {
        tally.add(reason);
        progress.failed++;
        report();
      },
      onAway: (reason) => away.add(reason),
      onCompared: (verdict) => {
        comparisons++;
        if (verdict === 'undecided') undecided++;
      },
      onLost,
      onUnopened: (reason) => {
        options.admission?.unopened(treeIdOf(runId, task, index));
        onLost(reason);
      },
    });
    if (!signal.aborted) progress.trees++;
    report();
    return undefined;
  });
  const [total, noun] = plan.search ? [progress.trees, 'searches'] : [progress.rollouts + unopened + away.failed(), 'rollouts'];
  const parts = [
    describeFailures(tally, total, `${noun} failed`),
    failedTreesText(progress) ?? '',
    describeFailures(away, total, `${noun} are left open for a resume`),
  ];
  const said = parts.filter((part) => part !== '').join('; ');
  const collected = {
    ...progress,
    mostFailed: progress.failed > total / 2,
    comparisons: options.kind.unproven && (plan.search || options.kind.deterministic) ? comparisons : null,
    undecided,
    reasons: tally.reasons(),
  };
  if (recordedEnd) return { ...collected, state: recordedEnd.outcome, message: recordedEnd.message };
  if (options.signal.aborted) return { ...collected, state: 'stopped', message: said };
  if (away.failed() > 0) return { ...collected, state: 'interrupted', message: said };
  const wentOn = plan.search ? progress.steps > 0 : total > progress.failed;
  const failure = said !== '' && (!wentOn || openedOtherwise) ? said : ((await options.failure?.()) ?? null);
  if (options.signal.aborted) return { ...collected, state: 'stopped', message: said };
  const state = failure === null ? 'completed' : 'failed';
  const message = failure ?? said;
  await appender.append([endOf(options, progress, state, message)]);
  return { ...collected, state, message };
}

/**
 * Orders trees, with their places in the plan, as they begin: those whose rollouts go one after the other take longest, and come
 * first, so that they grow next to the others and not behind them. Where groups are admitted the order is the plan's.
 */
function orderOf({ plan, admission }: Pick<CollectOptions, 'plan' | 'admission'>): readonly (readonly [number, PlannedTask])[] {
  const entries = [...plan.tasks.entries()];
  if (admission) return entries;
  const oneByOne = ({ branching, rollouts }: PlannedTask) => (branching === 'anywhere' ? rollouts : 1);
  return entries.sort(([, a], [, b]) => oneByOne(b) - oneByOne(a));
}

/**
 * @throws AnotherWorld when a tree that a resumed run would continue opens otherwise now: its prompts and steps would be of two
 * worlds.
 */
async function refuseOtherOpenings({ runId, recorded, kind, plan }: CollectOptions): Promise<void> {
  for (const { treeId, alias, seed, observation, pictures } of recorded.open) {
    const environment = await withFault(kind.create());
    if ('reason' in environment) continue; // as below
    try {
      const reopened = await withFault(resetAsRecorded(environment, { alias, seed }, observation, pictures));
      if (reopened.kind !== 'differs') continue; // what cannot be opened is found again where its tree goes on
      const { opening } = reopened;
      throw new AnotherWorld(
        `run ${runId} cannot go on: task ${alias} of its open tree ${treeId} opened with ${digestOf(observationText({ observation, pictures }))}, and ${plan.environment} opens it with ${digestOf(shownText(opening))} now${restartCause(kind)}; put back the environment that the run began in, or begin a new run`,
      );
    } finally {
      await environment.close();
    }
  }
}

const SHOWN = 120; // characters: enough to see which text it is

function digestOf(observation: string): string {
  const sha256 = sha256Hex(observation.toWellFormed());
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
  renderer: shownBy = kind.renderer,
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
      environments: [
        { environment: kind.name, fingerprint: kind.fingerprint, ...(shownBy === undefined ? {} : { renderer: shownBy }) },
      ],
      policy: policy.ref,
      ...(policy.digest === undefined ? {} : { policyDigest: policy.digest }),
    },
  };
}

function endOf(
  { runId }: CollectOptions,
  progress: Progress,
  outcome: 'completed' | 'failed',
  message: string,
): Parameters<Appender['append']>[0][number] {
  const { trees, rollouts, steps } = progress;
  return {
    type: 'RunFinished',
    id: derivedId('RunFinished', runId),
    correlationId: runId,
    data: { runId, outcome, message: cutText(message, 10_000), trees, rollouts, steps },
  };
}

const REPEATS =
  'see that nothing else draws from its random state, that it has the data it began with and is not changed meanwhile (a server: espalier agentgym check --open URL), then collect those tasks in another run';

/** Describes how many trees failed, and why; null when none did. */
function failedTreesText({ failedTrees, plannedTrees }: Progress): string | null {
  if (failedTrees === 0) return null;
  return `${failedTrees} of ${plannedTrees} trees failed: the environment did not repeat what was recorded in them; ${REPEATS}`;
}
