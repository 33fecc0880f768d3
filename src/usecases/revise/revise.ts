import { refuseThresholds } from '../../domain/revision/thresholds.ts';
import { judgeText } from '../../events/schemas/revisions.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { RunRefused } from '../collect/hold-run.ts';
import { readAnswer } from '../collect/prompting/prompter.ts';
import { type Judging, withJudgedRun } from './judged-run.ts';
import { DIRECT, type ReviseCounts, reviseRun } from './revise-run.ts';
import type { RevisedTree, RevisePlan } from './revised-tree.ts';

export interface Revising extends Omit<Judging, 'needsWorld'> {
  readonly plan: RevisePlan;
  readonly checking: 'execute' | 'none';
  readonly concurrency: number;
  readonly progress?: (counts: ReviseCounts) => void;
  /** See `ReviseOptions.onTree`. */
  readonly onTree?: (tree: RevisedTree) => void;
}

/** What came out, and which judge decided: `judge` is name@revision, as the record names it. */
export type Revised = ReviseCounts & { readonly judge: string };

/**
 * Mines the revisions of a recorded run into the platform's record, one process per run at a time. It first waits until the read
 * models hold everything that was appended. @throws RunRefused, PolicySpecError, AnotherWorld, PolicyError, EnvironmentError:
 * each says what to do.
 */
export async function revise(platform: Platform, revising: Revising): Promise<Revised> {
  const wrong = refuseThresholds(revising.plan);
  if (wrong !== null) throw new RunRefused(wrong);
  const { db } = platform.database;
  return withJudgedRun(platform, { ...revising, needsWorld: revising.checking === 'execute' }, async (run) => {
    const { planned, judge, kind, appender, resolve } = run;
    const plannedTrees = planned?.tasks.length ?? null;
    const prompt = planned?.prompt;
    const read = prompt ? (response: string) => readAnswer({ plan: prompt }, response) : null;
    const counts = await reviseRun({ ...revising, db, plannedTrees, judge, kind, read, appender, resolve });
    return { ...counts, judge: judgeText(judge ?? DIRECT) };
  });
}
