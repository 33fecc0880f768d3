import { type RawBuilder, sql } from 'kysely';
import type { SampleState } from '../training-pool/read-samples.ts';

/**
 * Returns the condition that a sample is in a state, and was rejected for a reason; what is undefined is not asked for. It says
 * what the `state` of a sample is computed by (`training-pool/read-samples.ts`), state by state, so that the planner can begin at
 * the few that are rejected or abandoned.
 */
export function sampleInState(
  samples: string,
  { state, reason }: { readonly state: SampleState | undefined; readonly reason: string | undefined },
): RawBuilder<boolean> {
  const [id, tree] = [sql.ref(`${samples}.rolloutId`), sql.ref(`${samples}.treeId`)];
  const all: RawBuilder<unknown>[] = [];
  if (reason !== undefined)
    all.push(
      sql`exists (select from sample_rejections x where x.rollout_id = ${id} and x.tree_id = ${tree} and x.reason = ${reason})`,
    );
  if (state !== undefined) all.push(STATES[state](id, tree));
  return all.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(all, sql` and `)})`;
}

type Condition = (id: RawBuilder<unknown>, tree: RawBuilder<unknown>) => RawBuilder<unknown>;

const rejected: Condition = (id, tree) =>
  sql`exists (select from sample_rejections x where x.rollout_id = ${id} and x.tree_id = ${tree})`;
const inBatch: Condition = (id, tree) =>
  sql`exists (select from batch_samples b where b.rollout_id = ${id} and b.tree_id = ${tree})`;
const batchIn =
  (table: 'batch_acks' | 'batch_abandonments'): Condition =>
  (id, tree) =>
    sql`exists (select from batch_samples b join ${sql.table(table)} e using (batch_id)
      where b.rollout_id = ${id} and b.tree_id = ${tree})`;
const acked = batchIn('batch_acks');
const abandoned = batchIn('batch_abandonments');
const onLease: Condition = (id, tree) => sql`exists (select from batch_samples b join leases l using (batch_id)
  where b.rollout_id = ${id} and b.tree_id = ${tree} and l.leased_at is not null and l.ended_at is null)`;
const closed: Condition = (_id, tree) => sql`exists (select from groups y where y.tree_id = ${tree} and y.closed_at is not null)`;
const not =
  (condition: Condition): Condition =>
  (id, tree) =>
    sql`not ${condition(id, tree)}`;
const both =
  (...conditions: readonly Condition[]): Condition =>
  (id, tree) =>
    sql.join(
      conditions.map((condition) => condition(id, tree)),
      sql` and `,
    );

const unused = both(not(rejected), not(inBatch));
const STATES: Readonly<Record<SampleState, Condition>> = {
  rejected,
  trained: both(acked, not(rejected)),
  abandoned: both(abandoned, not(rejected), not(acked)),
  leased: both(onLease, not(rejected), not(acked), not(abandoned)),
  planned: both(inBatch, not(rejected), not(acked), not(abandoned), not(onLease)),
  ready: both(unused, closed),
  group: both(unused, not(closed)),
};
