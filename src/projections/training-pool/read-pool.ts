import { type RawBuilder, sql } from 'kysely';
import { groupBy } from '../../domain/group-by.ts';
import type { Readiness } from '../../domain/training/advantages/estimator.ts';
import { awaitedComponents, type PlanRules } from '../../domain/training/planning/plan-rules.ts';
import type { PoolGroup, PoolSample } from '../../domain/training/planning/pool.ts';
import type { Rejection } from '../../domain/training/planning/record-fault.ts';
import type { Db } from '../../postgres/database.ts';
import { OF_ITS_PROJECT } from './of-its-project.ts';
import { LOOSE_OF_OWN } from './settled-samples.ts';

export interface PoolQuery {
  readonly policyId: string;
  readonly rules: Pick<PlanRules, 'metric' | 'rewards' | 'unscored'>;
  readonly waitsFor: Readiness['waitsFor'];
  /** Runs that were over before the read models caught up with the log: what they left open will not be closed. */
  readonly finishedRuns: readonly string[];
}

/**
 * Reads the groups that hold finished samples of which no batch and no rejection says anything, by tree, with the times at which
 * each fact of them came: a planner decides by those, and not by when it looks.
 *
 * Samples come as plain rows: 100,000 of them as JSON built by Postgres took half as long again (5.6 s against 4.0 s on two busy
 * cores).
 */
export async function readPool(db: Db, query: PoolQuery): Promise<readonly PoolGroup[]> {
  const members = await readMembers(db, query);
  const samplesOf = groupBy(members, ({ treeId }) => treeId, sampleOf);
  const groups = await readGroups(db, query, [...samplesOf.keys()]);
  return groups
    .map((group) => ({ ...group, samples: (samplesOf.get(group.treeId) ?? []).sort(byOrdinal) }))
    .sort((a, b) => compare(a.treeId, b.treeId));
}

function sampleOf({ treeId: _, reason, rule, measured, ...facts }: Member): PoolSample {
  return { ...facts, rejected: reason === null ? null : { reason, rule: rule ?? '', measured }, recordFault: null };
}

function byOrdinal(a: PoolSample, b: PoolSample): number {
  return a.ordinal - b.ordinal || compare(a.rolloutId, b.rolloutId);
}

function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

interface Member extends Omit<PoolSample, 'rejected' | 'recordFault'> {
  readonly treeId: string;
  readonly reason: Rejection['reason'] | null;
  readonly rule: string | null;
  readonly measured: number | null;
}

/** The finished members that no batch holds, of the groups in which one of them was not rejected either. */
async function readMembers(db: Db, { policyId, rules }: PoolQuery): Promise<readonly Member[]> {
  const awaited = awaitedComponents(rules);
  const since = awaited.map((component) => sql`coalesce((scored_at ->> ${component})::float8, 0)`);
  const { rows } = await sql<Member>`
    with own as materialized (
      select r.run_id, r.policy_id from training_runs r where r.policy_id = ${policyId} and r.channel = 'train' and ${OF_ITS_PROJECT}
    ),
    ${LOOSE_OF_OWN},
    unheld as materialized (
      select s.*, x.reason, x.rule, x.measured
      from loose l
      cross join lateral (
        select s.* from samples s where s.tree_id = l.tree_id and s.finished_at is not null
          and not exists (select from batch_samples b where b.rollout_id = s.rollout_id and b.tree_id = s.tree_id and b.policy_id = l.policy_id) offset 0) s
      left join lateral (select * from sample_rejections x
        where x.rollout_id = s.rollout_id and x.tree_id = s.tree_id and x.policy_id = l.policy_id offset 0) x on true
    )
    select tree_id, rollout_id, coalesce(ordinal, 0) as ordinal, outcome, taken as steps,
           sampled_tokens, context_tokens, row_tokens,
           oldest_version, newest_version, policies, without_log_probs,
           without_anchor, scores,
           ${msOf(sql`finished_at`)} as finished_ms, 
           case when scores ?& ${[...awaited]}::text[] then greatest(${sql.join(since)}) end as scored_ms, reason, rule, measured
    from unheld where tree_id in (select tree_id from unheld where reason is null)`.execute(db);
  return rows;
}

/** Milliseconds since 1970, whole as those of `scored_at`: both are compared. */
function msOf(instant: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(extract(epoch from ${instant}) * 1000)::bigint::float8`;
}

type GroupRow = Omit<PoolGroup, 'samples'>;

async function readGroups(db: Db, query: PoolQuery, trees: readonly string[]): Promise<readonly GroupRow[]> {
  if (trees.length === 0) return [];
  const { rows } = await sql<GroupRow>`
    with mine as (
      select g.tree_id, g.task_id, g.planned_rollouts, r.policy_id,
             coalesce(g.closed_at, case when r.run_id = any(${[...query.finishedRuns]}::uuid[]) then r.finished_at end) as ended_at
      from groups g join training_runs r using (run_id) where g.tree_id = any(${[...trees]}::uuid[])
    )
    select m.tree_id, m.planned_rollouts as planned,
           exists (select from batch_samples b where b.tree_id = m.tree_id and b.policy_id = m.policy_id) as taken,
           ${msOf(sql`m.ended_at`)} as closed_ms, ${msOf(sql`w.since`)} as greedy_ms
    from mine m left join lateral (${query.waitsFor === 'greedy-sibling' ? greedyOf(query.policyId) : NO_GREEDY}) w on true`.execute(
    db,
  );
  return rows;
}

/** When the first greedy rollout of the task of a group `m` by one of its versions finished. */
function greedyOf(policyId: string): RawBuilder<unknown> {
  return sql`
      select min(s.finished_at) as since
      from training_runs r join groups g using (run_id) join samples s using (tree_id)
      where r.policy_id = ${policyId} and r.channel = 'baseline' and g.task_id = m.task_id
        and ${OF_ITS_PROJECT}
        and s.finished_at is not null and s.oldest_version = s.newest_version
        and s.oldest_version in (select oldest_version from samples where tree_id = m.tree_id and finished_at is not null)`;
}

const NO_GREEDY = sql`select null::timestamptz as since`; // planning the look-up takes longer than the rest of the statement

/** Reads the runs of a policy's channel `train` that are over. */
export async function readFinishedRuns(db: Db, policyId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ runId: string }>`
    select run_id from training_runs r
    where policy_id = ${policyId} and channel = 'train' and finished_at is not null and ${OF_ITS_PROJECT}`.execute(db);
  return rows.map(({ runId }) => runId);
}
