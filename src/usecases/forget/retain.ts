import type { Platform } from '../../platform/open-platform.ts';
import { readPayloadPolicies } from '../../postgres/payload-policies.ts';
import { type DueRun, readDue } from '../../projections/forgetting/read-due.ts';
import { type Forgetting, type Forgotten, forget } from './forget.ts';
import { type ForgetPlan, planForgetting } from './plan-forgetting.ts';

/** What a project keeps no longer. */
export interface Due {
  readonly project: string;
  readonly days: number;
  /** Runs that can be forgotten, whole or in part. */
  readonly runs: readonly string[];
  /** Runs whose payload lies in the clear, all of it: nothing makes the log forget it. */
  readonly clear: readonly string[];
}

/** Reads what is older than the days that its project keeps it. @param now as milliseconds since 1970. */
export async function readRetention({ database: { db } }: Platform, now: number): Promise<readonly Due[]> {
  const due = await readDue(db, now);
  const policies = await readPayloadPolicies(db);
  return policies.flatMap(({ project, forgetAfterDays: days }) => {
    if (days === null) return [];
    const of = (is: (run: DueRun) => boolean) =>
      due.filter((run) => run.project === project && is(run)).map(({ runId }) => runId);
    return [{ project, days, runs: of(({ sealed }) => sealed), clear: of(({ sealed, forgotten }) => !sealed && !forgotten) }];
  });
}

export interface Retained extends Forgotten {
  readonly plan: ForgetPlan;
}

/**
 * Forgets what is older than the days that its project keeps it, as `forget` does, and leaves what lies in the clear. The read
 * models are folded again once for all of it. Null where nothing is due. Killed anywhere, it is continued by the next call.
 */
export async function retain(
  platform: Platform,
  due: readonly Due[],
  options: Omit<Forgetting, 'by' | 'reason' | 'clear'>,
): Promise<Retained | null> {
  const ids = due.flatMap(({ runs }) => runs);
  if (ids.length === 0) return null;
  const plan = await planForgetting(platform, { kind: 'runs', ids });
  const days = due.filter(({ runs }) => runs.length > 0).map((each) => `${each.days} days of ${each.project}`);
  const reason = `older than the ${days.join(', the ')}`;
  return { plan, ...(await forget(platform, plan, { ...options, by: 'retention', reason, clear: 'leave' })) };
}
