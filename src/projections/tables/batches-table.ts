import { sql } from 'kysely';
import { type BatchState, batchInState, STATE } from '../training-pool/read-batches.ts';
import { column, microseconds, type PolicyTable, type TableColumn, type TableQuery } from './table.ts';

export interface BatchTableFilter {
  /** Any of these runs: batches that hold a sample of one. */
  readonly runIds?: readonly string[];
  readonly policyId?: string;
  readonly state?: BatchState;
}

const COLUMNS: readonly TableColumn[] = [
  column('batch_id', 'utf8', sql`batches.batch_id::text`, 'Id of the batch.'),
  column('policy_id', 'utf8', sql`batches.policy_id`, 'The policy that it trains.'),
  column('ordinal', 'int32', sql`batches.ordinal`, 'Place among the batches of the policy, from 0.'),
  column('policy_version', 'int32', sql`batches.policy_version`, 'The version that it is trained on.'),
  column('state', 'utf8', STATE, '`planned`, `leased`, `trained` or `abandoned`.'),
  column('estimator', 'utf8', sql`batches.estimator ->> 'name'`, 'Name of the estimator.'),
  column('estimator_revision', 'utf8', sql`batches.estimator ->> 'revision'`, 'Its revision.'),
  column('groups', 'int32', sql`batches.groups`, 'How many groups it holds.'),
  column('samples', 'int32', sql`batches.samples`, 'How many samples it holds.'),
  column('tokens', 'int64', sql`batches.tokens`, 'How many tokens it holds.'),
  column('seed', 'int64', sql`batches.seed`, 'Its seed.'),
  column('position', 'utf8', sql`batches.position`, 'The position of the log that it was planned at.'),
  column('manifest_hash', 'utf8', sql`batches.manifest_hash`, 'SHA-256 of its manifest, chained to the one before.'),
  column('version', 'int32', sql`acks.version`, 'The version that was trained from it.'),
  column('checkpoint_id', 'utf8', sql`acks.checkpoint_id::text`, 'The checkpoint of that version.'),
  column('abandon_reason', 'utf8', sql`abandonments.reason`, 'Why it is never trained, where it was abandoned.'),
  column(
    'leases',
    'int32',
    sql`(select count(*)::int from leases l where l.batch_id = batches.batch_id and l.leased_at is not null)`,
    'How many leases it had.',
  ),
  column('planned_at', 'instant', microseconds('batches.plannedAt'), 'When it was planned.'),
  column('acked_at', 'instant', microseconds('acks.ackedAt'), 'When it was trained.'),
  column('abandoned_at', 'instant', microseconds('abandonments.abandonedAt'), 'When it was abandoned.'),
];

/** Training batches of all policies: what `batches` of a policy of GraphQL lists. */
export const batchesTable: PolicyTable<BatchTableFilter> = {
  kind: 'policies',
  name: 'batches',
  summary: 'Training batches of all policies',
  query(db, { runIds, policyId, state }) {
    let query = db
      .selectFrom('batches')
      .leftJoin('batchAcks as acks', 'acks.batchId', 'batches.batchId')
      .leftJoin('batchAbandonments as abandonments', 'abandonments.batchId', 'batches.batchId');
    if (policyId !== undefined) query = query.where('batches.policyId', '=', policyId);
    if (state !== undefined) query = query.where(batchInState(state));
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
