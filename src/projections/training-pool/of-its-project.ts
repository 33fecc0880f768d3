import { sql } from 'kysely';

/**
 * The condition on a run `r` of `training_runs` that a declared policy which it names belongs to its own project: a policy is
 * trained on the runs of its project alone. It decides whenever the policy was declared, before the run or behind it; a run or a
 * policy whose owner is not folded yet waits.
 */
export const OF_ITS_PROJECT = sql<boolean>`not exists (
  select from lineages n where n.policy_id = r.policy_id and not exists (
    select from owners p join owners o on o.project = p.project
    where p.stream = n.lineage_id and p.topic = 'training' and o.stream = r.run_id and o.topic = 'runs'))`;
