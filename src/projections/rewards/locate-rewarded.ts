import { sql } from 'kysely';
import { isUuid } from '../../domain/ids.ts';
import type { Db } from '../../postgres/database.ts';
import { onlyOne } from '../ambiguous-id.ts';

/** What a reward is of: a step with its rollout, or a whole rollout; and the reward of the component that is in force. */
export interface Rewarded {
  readonly treeId: string;
  readonly runId: string;
  readonly stepId: string | null;
  readonly rolloutId: string | null;
  readonly reward: InForce | null;
}
export interface InForce {
  readonly rewardId: string;
  readonly value: number;
  readonly scorer: string;
  readonly scorerRevision: string;
}

/**
 * Finds what an id stands for, as far as it can be rewarded: a step, a rollout, the id that a model server gave its reply (the
 * step that the reply became), or the id of a trace that is one rollout. Undefined where nothing is on record.
 * @param treeId the tree that is meant, where several have one under the id. @throws AmbiguousId.
 */
export async function locateRewarded(
  db: Db,
  { id, treeId, component }: { readonly id: string; readonly treeId: string | null; readonly component: string },
): Promise<Rewarded | undefined> {
  const { rows } = await sql<Rewarded>`
    with o as (${byName(id)} ${isUuid(id) ? byUuid(id) : sql``})
    select o.*, t.run_id, (
      select jsonb_build_object('rewardId', w.reward_id, 'value', w.value, 'scorer', w.scorer, 'scorerRevision', w.scorer_revision)
      from rewards w where w.tree_id = o.tree_id and w.component = ${component}
        and case when o.step_id is null then w.step_id is null and w.rollout_id = o.rollout_id else w.step_id = o.step_id end
      order by w.assigned_at, w.reward_id limit 1) as reward
    from o join trees t using (tree_id)`.execute(db);
  return onlyOne({ kind: 'what is named', id, treeId }, rows);
}

/**
 * By the id that a model server or a tracer gave, which may be a UUID as well. Of a trace that named no task, the tree has its spans, its id as
 * alias, and one rollout.
 */
const byName = (id: string) => sql`
  select tree_id, step_id, rollout_id from steps where call ->> 'responseId' = ${id}
  union all select x.tree_id, null, min(x.rollout_id::text)::uuid from trees a join rollouts x using (tree_id)
  where a.alias = ${id} and a.environment in (
    select distinct e ->> 'environment' from runs cross join lateral jsonb_array_elements(environments) as e)
    and exists (select from events s where s.stream = a.tree_id and s.type = 'SpanReceived')
  group by x.tree_id having count(*) = 1`;

const byUuid = (id: string) => sql`
  union all select tree_id, step_id, rollout_id from steps where step_id = ${id}::uuid and depth > 0
  union all select tree_id, null, rollout_id from rollouts where rollout_id = ${id}::uuid`;
