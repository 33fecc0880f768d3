import { createAppender } from '../append/appender.ts';
import { type CollectPlan, collectPlan } from '../collect/plan.ts';
import { asPublished } from '../collect/published-environment.ts';
import { DIRECT, type ReviseCounts, reviseRun } from '../collect/revise-run.ts';
import type { RevisePlan } from '../collect/revise-tree.ts';
import { refuseThresholds } from '../domain/revision/thresholds.ts';
import type { EnvironmentKind } from '../environments/environment.ts';
import { openEnvironment } from '../environments/open-environment.ts';
import { TOPICS } from '../events/catalogue.ts';
import { judgeText } from '../events/schemas/revisions.ts';
import { createJudge, parseJudgeText } from '../policies/create-judge.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { CODE_VERSION } from './code-version.ts';
import { lockRun, RunRefused } from './collect-into.ts';
import { nextSequence } from './next-sequence.ts';
import type { Platform } from './open-platform.ts';

export interface Revising {
  readonly runId: string;
  readonly plan: RevisePlan;
  /** A judge by its short form: planner, planner-strict, self, openai:MODEL@URL, direct. */
  readonly judge: string;
  readonly checking: 'execute' | 'none';
  /** In place of the environment that the run's plan names. */
  readonly environment: string | null;
  readonly concurrency: number;
  readonly signal: AbortSignal;
  readonly progress?: (counts: ReviseCounts) => void;
}

/** What came out, and by whom: `judge` is name@revision, as the record names it. */
export type Revised = ReviseCounts & { readonly judge: string };

const CATCH_UP_MS = 60_000;

/**
 * Mines the revisions of a recorded run into the platform's record, one process per run at a time. It first waits until the read models hold
 * everything that was appended. @throws RunRefused, PolicySpecError, AnotherWorld, PolicyError, EnvironmentError: each says what to do.
 */
export async function reviseInto(platform: Platform, revising: Revising): Promise<Revised> {
  const { runId, plan, signal } = revising;
  const { db } = platform.database;
  const wrong = refuseThresholds(plan);
  if (wrong !== null) throw new RunRefused(wrong);
  const lock = await lockRun(platform, runId);
  try {
    await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
    const planned = await plannedOf(platform, runId);
    const spec = parseJudgeText(revising.judge, planned?.policy ?? null);
    const needsWorld = revising.checking === 'execute' || spec.kind === 'planner' || spec.kind === 'planner-strict';
    const kind = needsWorld ? await openWorld(revising.environment ?? planned?.environment ?? null, runId, planned) : null;
    try {
      const judge = await createJudge(spec, kind?.fingerprint ?? '', { apiKey: platform.config.openai.apiKey ?? undefined });
      try {
        const work = { ...revising, db, judge, kind, appender: appenderOf(platform), resolve: resolver(platform) };
        return { ...(await reviseRun(work)), judge: judgeText(judge ?? DIRECT) };
      } finally {
        await judge?.close();
      }
    } finally {
      await kind?.close();
    }
  } finally {
    await lock.release();
  }
}

async function plannedOf({ database }: Platform, runId: string): Promise<CollectPlan | null> {
  const run = await database.db.selectFrom('runs').select('config').where('run_id', '=', runId).executeTakeFirst();
  if (!run) throw new RunRefused(`there is no run ${runId}; \`espalier status\` lists the runs`);
  return collectPlan.safeParse(run.config).data ?? null;
}

async function openWorld(environment: string | null, runId: string, planned: CollectPlan | null): Promise<EnvironmentKind> {
  if (environment !== null) {
    const kind = await openEnvironment(environment);
    return planned?.search?.compat ? asPublished(kind) : kind; // the record holds observations as that search saw them
  }
  throw new RunRefused(
    `run ${runId} does not say which environment it was collected in; name it with --environment, or judge by a model with --no-verify`,
  );
}

function appenderOf(platform: Platform) {
  return createAppender({
    log: platform.log,
    blobs: platform.blobs,
    producer: { name: 'reviser', version: CODE_VERSION },
    clock: Date.now,
    sequenceOf: (stream) => nextSequence(platform.database.db, 'reviser', stream),
  });
}

function resolver({ blobs }: Platform): (sha256: string) => Promise<string> {
  return async (sha256) => Buffer.from(await blobs.get(sha256)).toString('utf8');
}
