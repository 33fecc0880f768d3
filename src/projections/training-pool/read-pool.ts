import { sql } from 'kysely';
import type { Readiness } from '../../domain/training/advantages/estimator.ts';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import type { PoolGroup, PoolSample } from '../../domain/training/planning/pool.ts';
import type { Db } from '../../postgres/database.ts';

export interface PoolQuery {
  readonly policyId: string;
  readonly rules: Pick<PlanRules, 'metric' | 'unscored'>;
  readonly waitsFor: Readiness['waitsFor'];
  /** Runs that were over before the read models caught up with the log: what they left open will not be closed. */
  readonly finishedRuns: readonly string[];
}

/**
 * Reads the groups that hold finished samples of which no batch and no rejection says anything, in the order in which they became ready: when they
 * closed, or when the last thing that they waited for arrived. So a group has the same place whether it is looked at then or later.
 */
export async function readPool(db: Db, query: PoolQuery): Promise<readonly PoolGroup[]> {
  const { rows } = await sql<PoolGroup & { readonly readyAt: Date | null }>`
    with mine as (
      select g.*, coalesce(g.closed_at, case when r.run_id = any(${[...query.finishedRuns]}::uuid[]) then r.finished_at end) as ended_at
      from training_runs r join groups g using (run_id)
      where r.policy_id = ${query.policyId} and r.channel = 'train'
    ),
    unsettled as (
      select s.tree_id from mine join samples s using (tree_id)
      left join batch_samples b using (rollout_id) left join sample_rejections x using (rollout_id)
      where s.finished_at is not null and b.rollout_id is null and x.rollout_id is null
      group by s.tree_id
    ),
    members as (
      select s.tree_id, jsonb_agg(${SAMPLE} order by s.ordinal, s.rollout_id) as samples,
             max((s.scored_at ->> ${query.rules.metric})::float8) as scored_ms, array_agg(distinct s.oldest_version) as versions
      from unsettled u join samples s using (tree_id)
      left join sample_rejections x using (rollout_id)
      where s.finished_at is not null and not exists (select from batch_samples b where b.rollout_id = s.rollout_id)
      group by s.tree_id
    )
    select m.tree_id as "treeId", m.planned_rollouts as planned, p.samples,
           case when exists (select from batch_samples b where b.tree_id = m.tree_id) then 'taken'
                when m.ended_at is null then 'open' else 'closed' end as state,
           case when w.since is null then 'missing' else 'there' end as greedy,
           greatest(m.ended_at, to_timestamp(case when ${query.rules.unscored === 'wait'} then p.scored_ms end / 1000), w.since) as "readyAt"
    from members p join mine m using (tree_id)
    left join lateral (
      select min(s.finished_at) as since
      from training_runs r join groups g using (run_id) join samples s using (tree_id)
      where ${query.waitsFor === 'greedy-sibling'} and r.policy_id = ${query.policyId} and r.channel = 'baseline' and g.task_id = m.task_id
        and s.finished_at is not null and s.oldest_version = s.newest_version and s.oldest_version = any(p.versions)
    ) w on true
    order by "readyAt" nulls last, m.tree_id`.execute(db);
  return rows.map(({ readyAt: _, ...group }) => group);
}

/** A sample as the planner sees it. */
const SAMPLE = sql<PoolSample>`jsonb_build_object(
  'rolloutId', s.rollout_id, 'ordinal', coalesce(s.ordinal, 0), 'outcome', s.outcome, 'steps', s.taken, 'sampledTokens', s.sampled_tokens,
  'contextTokens', s.context_tokens, 'rowTokens', s.row_tokens, 'oldestVersion', s.oldest_version, 'newestVersion', s.newest_version,
  'policies', s.policies, 'withoutLogProbs', s.without_log_probs, 'withoutAnchor', s.without_anchor, 'scores', s.scores,
  'rejected', case when x.rollout_id is not null then jsonb_build_object('reason', x.reason, 'rule', x.rule, 'measured', x.measured) end)`;

/** Reads the runs of a policy's channel `train` that are over. */
export async function readFinishedRuns(db: Db, policyId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ run_id: string }>`
    select run_id from training_runs where policy_id = ${policyId} and channel = 'train' and finished_at is not null`.execute(db);
  return rows.map(({ run_id }) => run_id);
}
