import { sql } from 'kysely';
import { type SampleFilter, samplesOf } from '../answers/sample-query.ts';
import { microseconds } from './instant.ts';
import type { TableFilter, TableQuery, TreeTable } from './table.ts';
import type { TableColumn } from './table-column.ts';
import { TASK, WHERE } from './tree-columns.ts';

type Filter = TableFilter & Omit<SampleFilter, 'runId' | 'text'> & { readonly batchId?: string; readonly success?: boolean };

const STATE = sql`case when x.rollout_id is not null then 'rejected' when a.batch_id is not null then 'trained'
  when exists (select from batch_abandonments y where y.batch_id = b.batch_id) then 'abandoned'
  when exists (select from leases l where l.batch_id = b.batch_id and l.leased_at is not null and l.ended_at is null) then 'leased'
  when b.batch_id is not null then 'planned' when groups.closed_at is not null then 'ready' else 'group' end`;

const COLUMNS: readonly TableColumn[] = [
  ...WHERE,
  { name: 'rollout_id', type: 'utf8', value: sql`samples.rollout_id::text`, says: 'The rollout, whose id the sample has.' },
  ...TASK,
  { name: 'policy_id', type: 'utf8', value: sql`training_runs.policy_id`, says: 'The policy that it trains.' },
  {
    name: 'state',
    type: 'utf8',
    value: STATE,
    says: '`trained`, `rejected`, `abandoned`, `leased`, `planned`, `ready` or `group`.',
  },
  { name: 'reason', type: 'utf8', value: sql`x.reason`, says: 'Why it is never trained on, where it was rejected.' },
  { name: 'rule', type: 'utf8', value: sql`x.rule`, says: 'The rule that rejected it.' },
  { name: 'measured', type: 'float64', value: sql`x.measured`, says: 'What the rule measured.' },
  { name: 'batch_id', type: 'utf8', value: sql`b.batch_id::text`, says: 'Its batch.' },
  { name: 'place', type: 'int32', value: sql`b.place`, says: 'Its place in the batch, counted through all groups.' },
  { name: 'oldest_version', type: 'int32', value: sql`samples.oldest_version`, says: 'The oldest version that acted in it.' },
  { name: 'newest_version', type: 'int32', value: sql`samples.newest_version`, says: 'The newest version that acted in it.' },
  {
    name: 'staleness',
    type: 'int32',
    value: sql`p.policy_version - samples.oldest_version`,
    says: 'Versions between its oldest span and the version that its batch is trained on.',
  },
  { name: 'steps', type: 'int32', value: sql`samples.taken`, says: 'How many steps it has.' },
  { name: 'sampled_tokens', type: 'int64', value: sql`samples.sampled_tokens`, says: 'Tokens of its answers.' },
  { name: 'context_tokens', type: 'int64', value: sql`samples.context_tokens`, says: 'Tokens of its longest prompt and answer.' },
  { name: 'row_tokens', type: 'int64', value: sql`samples.row_tokens`, says: 'Tokens of all prompts and answers.' },
  { name: 'outcome', type: 'utf8', value: sql`samples.outcome`, says: 'How the rollout ended.' },
  { name: 'success', type: 'bool', value: sql`samples.success`, says: 'What the environment says of it.' },
  { name: 'scores', type: 'amounts', value: sql`samples.scores`, says: 'The rewards in force, summed by component.' },
  { name: 'started_at', type: 'instant', value: microseconds('samples.startedAt'), says: 'When the rollout started.' },
  { name: 'finished_at', type: 'instant', value: microseconds('samples.finishedAt'), says: 'When it finished.' },
];

/** Finished rollouts as training samples: what `samples` of GraphQL lists. */
export const samplesTable: TreeTable<Filter> = {
  kind: 'trees',
  name: 'samples',
  query(db, filter) {
    const { treeId: _tree, taskId: _task, environment: _of, split: _split, taskDepth: _depth, runIds: _runs, ...own } = filter;
    const { batchId, success, ...sample } = own;
    let query = samplesOf(db, sample)
      .innerJoin('trees', 'trees.treeId', 'samples.treeId')
      .leftJoin('batchSamples as b', 'b.rolloutId', 'samples.rolloutId')
      .leftJoin('batches as p', 'p.batchId', 'b.batchId')
      .leftJoin('batchAcks as a', 'a.batchId', 'b.batchId')
      .leftJoin('sampleRejections as x', 'x.rolloutId', 'samples.rolloutId');
    if (batchId !== undefined) query = query.where('b.batchId', '=', batchId);
    if (success !== undefined) query = query.where('samples.success', '=', success);
    return query as unknown as TableQuery;
  },
  keys: [{ column: 'samples.rolloutId', type: 'uuid' }],
  columns: COLUMNS,
  from: ['step-tree', 'training-pool'],
  ofStreams: () => false,
};
