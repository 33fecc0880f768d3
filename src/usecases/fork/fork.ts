import { textReader } from '../../blobs/read-text.ts';
import { observationText } from '../../environments/same-observation.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { OfTree } from '../../projections/of-tree.ts';
import { isReplayRecorded } from '../../projections/replays/read-replays.ts';
import { readRunTotals } from '../../projections/runs/read-run-totals.ts';
import { readRun } from '../../projections/runs/read-runs.ts';
import { readForkedStep } from '../../projections/step-tree/read-fork-point.ts';
import { readRecordedPath } from '../../projections/step-tree/read-recorded-path.ts';
import { readTree } from '../../projections/step-tree/read-trees.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { type Collection, collect } from '../collect/collect.ts';
import type { Collected } from '../collect/collect-run.ts';
import { treeIdOf } from '../collect/collect-tree.ts';
import { PrefixDiverged } from '../collect/play-prefix.ts';
import { recordReplay } from '../replay/record-replay.ts';
import { ReplayRefused } from '../replay/replay-environment.ts';
import { Comparison, type ReplayReport } from '../replay/replay-report.ts';

export type Forking = Omit<Collection, 'mode' | 'experimentId'>;

export interface Forked {
  /** How the way to the step compares; null when the signal came before it was known. */
  readonly report: ReplayReport | null;
  /** What was collected behind it; null when the way differed, or in a resume of such a run. */
  readonly progress: Collected | null;
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
export async function fork(platform: Platform, forking: Forking): Promise<Forked> {
  const { runId, plan, signal } = forking;
  const [task] = plan.tasks;
  const { fork } = plan;
  if (!fork || !task) throw new ReplayRefused(`the plan of run ${runId} does not say what it goes on from`);
  const began = Date.now();
  const treeId = treeIdOf(runId, task, 0);
  await settle(platform, signal);
  let progress: Collected | null = null;
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
  if (!(await isReplayRecorded(platform.database.db, replayId)))
    await recordReplay(platform, { runId: fork.runId, replayId, report, parameters, seconds });
  return { report, progress };
}

/** Whether the way was found to differ before: then its tree is closed as failed. */
async function isDiverged({ database }: Platform, treeId: string): Promise<boolean> {
  return (await readTree(database.db, treeId))?.closeReason === 'failed';
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
