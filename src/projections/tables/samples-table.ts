import { sql } from 'kysely';
import { type SampleFilter, samplesOf } from '../analysis/sample-query.ts';
import {
  column,
  microseconds,
  TASK,
  type TableColumn,
  type TableFilter,
  type TableQuery,
  type TreeTable,
  WHERE,
} from './table.ts';

type Filter = TableFilter & Omit<SampleFilter, 'runId' | 'text'> & { readonly batchId?: string; readonly success?: boolean };

const STATE = sql`case when x.rollout_id is not null then 'rejected' when a.batch_id is not null then 'trained'
  when exists (select from batch_abandonments y where y.batch_id = b.batch_id) then 'abandoned'
  when exists (select from leases l where l.batch_id = b.batch_id and l.leased_at is not null and l.ended_at is null) then 'leased'
  when b.batch_id is not null then 'planned' when groups.closed_at is not null then 'ready' else 'group' end`;

const COLUMNS: readonly TableColumn[] = [
  ...WHERE,
  column('rollout_id', 'utf8', sql`samples.rollout_id::text`, 'The rollout, whose id the sample has.'),
  ...TASK,
  column('policy_id', 'utf8', sql`training_runs.policy_id`, 'The policy that it trains.'),
  column('state', 'utf8', STATE, '`trained`, `rejected`, `abandoned`, `leased`, `planned`, `ready` or `group`.'),
  column('reason', 'utf8', sql`x.reason`, 'Why it is never trained on, where it was rejected.'),
  column('rule', 'utf8', sql`x.rule`, 'The rule that rejected it.'),
  column('measured', 'float64', sql`x.measured`, 'What the rule measured.'),
  column('batch_id', 'utf8', sql`b.batch_id::text`, 'Its batch.'),
  column('place', 'int32', sql`b.place`, 'Its place in the batch, counted through all groups.'),
  column('oldest_version', 'int32', sql`samples.oldest_version`, 'The oldest version that acted in it.'),
  column('newest_version', 'int32', sql`samples.newest_version`, 'The newest version that acted in it.'),
  column(
    'staleness',
    'int32',
    sql`p.policy_version - samples.oldest_version`,
    'Versions between its oldest span and the version that its batch is trained on.',
  ),
  column('steps', 'int32', sql`samples.taken`, 'How many steps it has.'),
  column('sampled_tokens', 'int64', sql`samples.sampled_tokens`, 'Tokens of its answers.'),
  column('context_tokens', 'int64', sql`samples.context_tokens`, 'Tokens of its longest prompt and answer.'),
  column('row_tokens', 'int64', sql`samples.row_tokens`, 'Tokens of all prompts and answers.'),
  column('outcome', 'utf8', sql`samples.outcome`, 'How the rollout ended.'),
  column('success', 'bool', sql`samples.success`, 'What the environment says of it.'),
  column('scores', 'amounts', sql`samples.scores`, 'The rewards in force, summed by component.'),
  column('started_at', 'instant', microseconds('samples.startedAt'), 'When the rollout started.'),
  column('finished_at', 'instant', microseconds('samples.finishedAt'), 'When it finished.'),
];

/** Finished rollouts as training samples: what `samples` of GraphQL lists. */
export const samplesTable: TreeTable<Filter> = {
  kind: 'trees',
  name: 'samples',
  summary: 'Finished rollouts as training samples',
  query(db, filter) {
    const { treeId: _tree, taskId: _task, environment: _of, split: _split, taskDepth: _depth, runIds: _runs, ...own } = filter;
    const { batchId, success, ...sample } = own;
    let query = samplesOf(db, sample)
      .innerJoin('trees', 'trees.treeId', 'samples.treeId')
      .leftJoin('batchSamples as b', (on) =>
        on
          .onRef('b.rolloutId', '=', 'samples.rolloutId')
          .onRef('b.treeId', '=', 'samples.treeId')
          .onRef('b.policyId', '=', 'trainingRuns.policyId'),
      )
      .leftJoin('batches as p', 'p.batchId', 'b.batchId')
      .leftJoin('batchAcks as a', 'a.batchId', 'b.batchId')
      .leftJoin('sampleRejections as x', (on) =>
        on
          .onRef('x.rolloutId', '=', 'samples.rolloutId')
          .onRef('x.treeId', '=', 'samples.treeId')
          .onRef('x.policyId', '=', 'trainingRuns.policyId'),
      );
    if (batchId !== undefined) query = query.where('b.batchId', '=', batchId);
    if (success !== undefined) query = query.where('samples.success', '=', success);
    return query as unknown as TableQuery;
  },
  keys: [{ column: 'samples.rolloutId', type: 'uuid' }],
  columns: COLUMNS,
  from: ['step-tree', 'training-pool'],
  ofStreams: () => false,
};
