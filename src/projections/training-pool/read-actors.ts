import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** What one version of a policy did of the samples of a batch. Spans that are longer than their step count as far as they go. */
export interface ActorRecord {
  readonly batchId: string;
  readonly policyId: string;
  readonly version: number;
  readonly samples: number;
  readonly steps: number;
  readonly tokens: number;
}

/** Reads which versions acted in the samples of batches, by policy, the newest first, in one statement. */
export async function readActorsOfBatches(db: Db, batches: readonly string[]): Promise<readonly ActorRecord[]> {
  const { rows } = await sql<ActorRecord>`
    select b.batch_id, p.policy as policy_id, p.version, count(distinct (s.tree_id, s.rollout_id))::int as samples,
      count(distinct (s.tree_id, s.step_id)) as steps, sum(p.tokens)::bigint as tokens
    from batch_samples b join steps s on s.tree_id = b.tree_id and s.rollout_id = b.rollout_id,
      lateral (select span ->> 'policyId' as policy, (span ->> 'version')::int as version, (span ->> 'to')::int - (span ->> 'from')::int as tokens
        from jsonb_array_elements(s.policy_spans) span) p
    where b.batch_id = any(${[...batches]}::uuid[])
    group by 1, 2, 3 order by 1, 2, 3 desc`.execute(db);
  return rows;
}

/** A version that acted in a rollout. */
export interface RolloutActor {
  readonly treeId: string;
  readonly rolloutId: string;
  readonly policyId: string;
  readonly version: number;
}

/**
 * Reads which versions acted in the own steps of rollouts, by policy, the newest first, in one statement. The trees narrow the
 * search: `steps` is indexed by tree.
 */
export async function readActorsOfRollouts(
  db: Db,
  trees: readonly string[],
  rollouts: readonly string[],
): Promise<readonly RolloutActor[]> {
  const { rows } = await sql<RolloutActor>`
    select distinct s.tree_id, s.rollout_id, span ->> 'policyId' as policy_id, (span ->> 'version')::int as version
    from steps s, jsonb_array_elements(s.policy_spans) span
    where s.tree_id = any(${[...trees]}::uuid[]) and s.rollout_id = any(${[...rollouts]}::uuid[]) order by 1, 2, 3, 4 desc`.execute(
    db,
  );
  return rows;
}

/** A version whose batches are asked for, `first` of them. */
export interface Acted {
  readonly policyId: string;
  readonly version: number;
  readonly first: number;
}

/**
 * Reads the ids of the batches of its own policy in whose samples a version acted, the first planned first, a list for each
 * version asked, in one statement. The bound on staleness that a batch was planned by, where it has one, says which can hold it
 * at all.
 */
export async function readBatchesByActor(db: Db, wanted: readonly Acted[]): Promise<readonly (readonly string[])[]> {
  const [policies, versions, limits] = [
    wanted.map(({ policyId }) => policyId),
    wanted.map(({ version }) => version),
    wanted.map(({ first }) => first),
  ];
  const { rows } = await sql<{ place: number; batchId: string }>`
    select w.place::int as place, found.batch_id
    from unnest(${policies}::text[], ${versions}::int[], ${limits}::int[]) with ordinality as w(policy_id, version, most, place),
      lateral (select b.batch_id, b.ordinal from batches b
        where b.policy_id = w.policy_id and b.policy_version >= w.version
          and b.policy_version - w.version <= coalesce((b.rules ->> 'maxStaleness')::int, 2147483647)
          and exists (select from batch_samples m join samples s on s.rollout_id = m.rollout_id and s.tree_id = m.tree_id
            join steps t on t.tree_id = m.tree_id and t.rollout_id = m.rollout_id
            where m.batch_id = b.batch_id and s.oldest_version <= w.version and s.newest_version >= w.version
              and t.policy_spans @> jsonb_build_array(jsonb_build_object('policyId', w.policy_id, 'version', w.version)))
        order by b.ordinal limit w.most) found
    order by w.place, found.ordinal`.execute(db);
  const lists = wanted.map((): string[] => []);
  for (const { place, batchId } of rows) lists[place - 1]?.push(batchId);
  return lists;
}
