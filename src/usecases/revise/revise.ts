import { z } from 'zod';
import type { Appender } from '../../append/appender.ts';
import { textReader } from '../../blobs/read-text.ts';
import { refuseThresholds } from '../../domain/revision/thresholds.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { openEnvironment } from '../../environments/open-environment.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { judgeText } from '../../events/schemas/revisions.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { createJudge, type Judge, parseJudgeText } from '../../policies/judge.ts';
import { readRun } from '../../projections/runs/read-runs.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { RunRefused, takeOverRecorded, whileHeld } from '../collect/hold-run.ts';
import { type CollectPlan, collectPlan } from '../collect/plan.ts';
import { readAnswer } from '../collect/prompting/prompter.ts';
import { publishedEnvironment } from '../collect/published-environment.ts';
import { DIRECT, type ReviseCounts, reviseRun } from './revise-run.ts';
import type { RevisedTree, RevisePlan } from './revised-tree.ts';

interface RevisionOptions extends Omit<JudgeOptions, 'needsWorld'> {
  readonly plan: RevisePlan;
  readonly checking: 'execute' | 'none';
  readonly concurrency: number;
  readonly progress?: (counts: ReviseCounts) => void;
  /** See `ReviseOptions.onTree`. */
  readonly onTree?: (tree: RevisedTree) => void;
}

/** What came out, and which judge decided: `judge` is name@revision, as the record names it. */
export type RevisionResult = ReviseCounts & { readonly judge: string };

/**
 * Mines the revisions of a recorded run into the platform's record, one process per run at a time. It first waits until the read
 * models hold everything that was appended. @throws RunRefused, PolicySpecError, AnotherWorld, PolicyError, EnvironmentError:
 * each says what to do.
 */
export async function revise(platform: Platform, revising: RevisionOptions): Promise<RevisionResult> {
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

export interface JudgeOptions {
  readonly runId: string;
  /** A judge by its short form: planner, planner-strict, self, openai:MODEL@URL, direct. */
  readonly judge: string;
  /** In place of the environment that the run's plan names. */
  readonly environment: string | null;
  /** Whether the environment is wanted whoever judges. */
  readonly needsWorld: boolean;
  readonly signal: AbortSignal;
}

/** A recorded run held for mining. */
export interface JudgedRun {
  /** How it was planned; null for a run that was imported. */
  readonly planned: CollectPlan | null;
  /** What the import of Agent-R's trees said of their files; null for other runs. */
  readonly imported: AgentRImport | null;
  /** Null when nobody is asked. */
  readonly judge: Judge | null;
  /** Null when neither judge nor caller needs it. */
  readonly kind: EnvironmentKind | null;
  readonly appender: Appender;
  readonly resolve: (sha256: string) => Promise<string>;
}

type AgentRImport = z.infer<typeof agentRImport>;
const agentRImport = z.object({
  importer: z.string().startsWith('agent-r/'),
  rewardScale: z.number().positive(),
  system: z.string().nullable(),
  acknowledgement: z.string().nullable(),
});

const CATCH_UP_MS = 60_000;

/**
 * Holds a recorded run for one process, waits until the read models hold everything that was appended, opens who judges and
 * where, and closes it all after. @throws RunRefused, PolicySpecError, JudgeUnfit: each says what to do.
 */
export async function withJudgedRun<T>(
  platform: Platform,
  judging: JudgeOptions,
  use: (run: JudgedRun) => Promise<T>,
): Promise<T> {
  const { runId } = judging;
  return whileHeld(platform, runId, judging.signal, async (signal, held) => {
    await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
    const config = await configOf(platform, runId);
    await takeOverRecorded(platform, held, runId, signal);
    const planned = collectPlan.safeParse(config).data ?? null;
    const imported = agentRImport.safeParse(config).data ?? null;
    const spec = parseJudgeText(judging.judge, planned?.policy ?? null);
    const needsWorld = judging.needsWorld || spec.kind === 'planner' || spec.kind === 'planner-strict';
    const named = judging.environment ?? planned?.environment ?? null;
    const published = imported !== null || planned?.search?.compat !== undefined;
    if (needsWorld && named === null) throw worldUnknown(judging);
    const kind = needsWorld && named !== null ? await openWorld(named, published) : null;
    try {
      const judge = await createJudge(spec, kind?.fingerprint ?? '', { apiKey: platform.config.openai.apiKey ?? undefined });
      try {
        return await use({
          planned,
          imported,
          judge,
          kind,
          appender: openAppender(platform, 'reviser', { epoch: held.epoch }),
          resolve: textReader(platform.blobs),
        });
      } finally {
        await judge?.close();
      }
    } finally {
      await kind?.close();
    }
  });
}

async function configOf({ database }: Platform, runId: string): Promise<unknown> {
  const run = await readRun(database.db, runId);
  if (!run) throw new RunRefused(`there is no run ${runId}; \`espalier status\` lists the runs`);
  return run.config;
}

/** @param published the record holds observations as the published search saw them. */
async function openWorld(environment: string, published: boolean): Promise<EnvironmentKind> {
  const kind = await openEnvironment(environment);
  return published ? publishedEnvironment(kind) : kind;
}

function worldUnknown({ runId, needsWorld }: JudgeOptions): RunRefused {
  const instead = needsWorld ? 'judge by a model with --no-verify' : 'judge by a model';
  return new RunRefused(
    `run ${runId} does not say which environment it was collected in; name it with --environment, or ${instead}`,
  );
}
