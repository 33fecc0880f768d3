import { type RawBuilder, sql } from 'kysely';
import type { SampleState } from '../training-pool/read-samples.ts';

/**
 * Returns the condition that a sample of a run is in a state, and was rejected for a reason; what is undefined is not asked for. It says
 * what the `state` of a sample is computed by (`training-pool/read-samples.ts`), state by state, so that the planner can begin at
 * the few that are rejected or abandoned.
 */
export function sampleInState(
  { samples, runs }: { readonly samples: string; readonly runs: string },
  { state, reason }: { readonly state: SampleState | undefined; readonly reason: string | undefined },
): RawBuilder<boolean> {
  const sample = { id: sql.ref(`${samples}.rolloutId`), tree: sql.ref(`${samples}.treeId`), policy: sql.ref(`${runs}.policyId`) };
  const all: RawBuilder<unknown>[] = [];
  if (reason !== undefined)
    all.push(sql`exists (select from sample_rejections x where ${named('x', sample)} and x.reason = ${reason})`);
  if (state !== undefined) all.push(STATES[state](sample));
  return all.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(all, sql` and `)})`;
}

interface Sample {
  readonly id: RawBuilder<unknown>;
  readonly tree: RawBuilder<unknown>;
  readonly policy: RawBuilder<unknown>;
}
type Condition = (sample: Sample) => RawBuilder<unknown>;

/** What the policy of a sample says of it, and no other that names it. */
const named = (as: 'b' | 'x', { id, tree, policy }: Sample) =>
  sql`${sql.ref(`${as}.rolloutId`)} = ${id} and ${sql.ref(`${as}.treeId`)} = ${tree} and ${sql.ref(`${as}.policyId`)} = ${policy}`;

const rejected: Condition = (sample) => sql`exists (select from sample_rejections x where ${named('x', sample)})`;
const inBatch: Condition = (sample) => sql`exists (select from batch_samples b where ${named('b', sample)})`;
const batchIn =
  (table: 'batch_acks' | 'batch_abandonments'): Condition =>
  (sample) =>
    sql`exists (select from batch_samples b join ${sql.table(table)} e using (batch_id) where ${named('b', sample)})`;
const acked = batchIn('batch_acks');
const abandoned = batchIn('batch_abandonments');
const onLease: Condition = (sample) => sql`exists (select from batch_samples b join leases l using (batch_id)
  where ${named('b', sample)} and l.leased_at is not null and l.ended_at is null)`;
const closed: Condition = ({ tree }) => sql`exists (select from groups y where y.tree_id = ${tree} and y.closed_at is not null)`;
const not =
  (condition: Condition): Condition =>
  (sample) =>
    sql`not ${condition(sample)}`;
const both =
  (...conditions: readonly Condition[]): Condition =>
  (sample) =>
    sql.join(
      conditions.map((condition) => condition(sample)),
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
