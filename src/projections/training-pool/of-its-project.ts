import { sql } from 'kysely';

/**
 * The condition on a run `r` of `training_runs` that the policy which it names belongs to no other project: a policy is trained
 * on the runs of its own project. It decides whenever the policy was declared, before the run or behind it; a caller that plans
 * waits for `owners` first.
 */
export const OF_ITS_PROJECT = sql`not exists (
  select from lineages n join owners p on p.stream = n.lineage_id and p.topic = 'training'
  join owners o on o.stream = r.run_id and o.topic = 'runs'
  where n.policy_id = r.policy_id and o.project <> p.project)`;
