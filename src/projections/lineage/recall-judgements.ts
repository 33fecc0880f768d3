import { sql } from 'kysely';

/**
 * Every judgement of every reward, in force or not: a query of `reward_id, step_id, rollout_id, tree_id, ordinal, value, scorer,
 * revision`; ordinal 0 is the first. The read model keeps the scorer in force with a reward, so that of a first judgement which
 * was revised is read from the journal.
 */
export const JUDGEMENTS = sql`
  select reward_id, step_id, rollout_id, tree_id, 0 as ordinal, assigned_value as value, scorer, scorer_revision as revision
  from rewards where revisions = 0
  union all
  select w.reward_id, w.step_id, w.rollout_id, w.tree_id, 0, w.assigned_value, e.data -> 'scorer' ->> 'name', e.data -> 'scorer' ->> 'revision'
  from rewards w cross join lateral (
    select body::jsonb -> 'data' as data from events
    where stream = w.tree_id and type = 'RewardAssigned' and position(w.reward_id::text in body) > 0 offset 0
  ) e
  where w.revisions > 0 and e.data ->> 'rewardId' = w.reward_id::text
  union all
  select w.reward_id, w.step_id, w.rollout_id, w.tree_id, v.ordinal, v.value, v.scorer, v.scorer_revision
  from rewards w join reward_revisions v on v.reward_id = w.reward_id and v.tree_id = w.tree_id`;
