import { sql } from 'kysely';
import { type BatchState, batchIs, STATE } from '../training-pool/read-batches.ts';
import { microseconds } from './instant.ts';
import type { PolicyTable, TableQuery } from './table.ts';
import type { TableColumn } from './table-column.ts';

export interface BatchTableFilter {
  /** Any of these runs: batches that hold a sample of one. */
  readonly runIds?: readonly string[];
  readonly policyId?: string;
  readonly state?: BatchState;
}

const COLUMNS: readonly TableColumn[] = [
  { name: 'batch_id', type: 'utf8', value: sql`batches.batch_id::text`, says: 'Id of the batch.' },
  { name: 'policy_id', type: 'utf8', value: sql`batches.policy_id`, says: 'The policy that it trains.' },
  { name: 'ordinal', type: 'int32', value: sql`batches.ordinal`, says: 'Place among the batches of the policy, from 0.' },
  { name: 'policy_version', type: 'int32', value: sql`batches.policy_version`, says: 'The version that it is trained on.' },
  { name: 'state', type: 'utf8', value: STATE, says: '`planned`, `leased`, `trained` or `abandoned`.' },
  { name: 'estimator', type: 'utf8', value: sql`batches.estimator ->> 'name'`, says: 'Name of the estimator.' },
  { name: 'estimator_revision', type: 'utf8', value: sql`batches.estimator ->> 'revision'`, says: 'Its revision.' },
  { name: 'groups', type: 'int32', value: sql`batches.groups`, says: 'How many groups it holds.' },
  { name: 'samples', type: 'int32', value: sql`batches.samples`, says: 'How many samples it holds.' },
  { name: 'tokens', type: 'int64', value: sql`batches.tokens`, says: 'How many tokens it holds.' },
  { name: 'seed', type: 'int64', value: sql`batches.seed`, says: 'Its seed.' },
  { name: 'position', type: 'utf8', value: sql`batches.position`, says: 'The position of the log that it was planned at.' },
  {
    name: 'manifest_hash',
    type: 'utf8',
    value: sql`batches.manifest_hash`,
    says: 'SHA-256 of its manifest, chained to the one before.',
  },
  { name: 'version', type: 'int32', value: sql`acks.version`, says: 'The version that was trained from it.' },
  { name: 'checkpoint_id', type: 'utf8', value: sql`acks.checkpoint_id::text`, says: 'The checkpoint of that version.' },
  {
    name: 'abandon_reason',
    type: 'utf8',
    value: sql`abandonments.reason`,
    says: 'Why it is never trained, where it was abandoned.',
  },
  {
    name: 'leases',
    type: 'int32',
    value: sql`(select count(*)::int from leases l where l.batch_id = batches.batch_id and l.leased_at is not null)`,
    says: 'How many leases it had.',
  },
  { name: 'planned_at', type: 'instant', value: microseconds('batches.plannedAt'), says: 'When it was planned.' },
  { name: 'acked_at', type: 'instant', value: microseconds('acks.ackedAt'), says: 'When it was trained.' },
  { name: 'abandoned_at', type: 'instant', value: microseconds('abandonments.abandonedAt'), says: 'When it was abandoned.' },
];

/** Training batches of all policies: what `batches` of a policy of GraphQL lists. */
export const batchesTable: PolicyTable<BatchTableFilter> = {
  kind: 'policies',
  name: 'batches',
  query(db, { runIds, policyId, state }) {
    let query = db
      .selectFrom('batches')
      .leftJoin('batchAcks as acks', 'acks.batchId', 'batches.batchId')
      .leftJoin('batchAbandonments as abandonments', 'abandonments.batchId', 'batches.batchId');
    if (policyId !== undefined) query = query.where('batches.policyId', '=', policyId);
    if (state !== undefined) query = query.where(batchIs(state));
    if (runIds !== undefined)
      query = query.where(
        sql<boolean>`exists (select from batch_samples s join trees t on t.tree_id = s.tree_id
          where s.batch_id = batches.batch_id and t.run_id = any(${[...runIds]}::uuid[]))`,
      );
    return query as unknown as TableQuery;
  },
  keys: [
    { column: 'batches.policyId', type: 'text' },
    { column: 'batches.ordinal', type: 'integer' },
    { column: 'batches.batchId', type: 'uuid' },
  ],
  columns: COLUMNS,
  from: ['training-pool'],
};
