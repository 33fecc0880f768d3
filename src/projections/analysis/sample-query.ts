import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { type AnnotatedFilter, rolloutAnnotated } from '../annotations/annotated.ts';
import type { SampleState } from '../training-pool/read-samples.ts';
import { sampleInState } from './sample-state.ts';
import { stepsMatching, type TextQuery, textArms } from './text-query.ts';
import { type OfTrees, treesOf } from './trees-of.ts';

/** What training samples are chosen by; a part that is left out chooses all. */
export interface SampleFilter extends OfTrees {
  /** The policy that they train. */
  readonly policyId?: string;
  readonly state?: SampleState;
  readonly reason?: string;
  /** The version of a span of theirs. */
  readonly version?: number;
  /** Words of a step that they took. */
  readonly text?: TextQuery;
  /** What they, or a step that they took, are annotated with. */
  readonly annotated?: AnnotatedFilter;
}

/** By tree and rollout, ids that are hashes: any choice lies everywhere alike, and the samples of a group together. */
const TREE = [
  { column: 'samples.treeId', type: 'uuid' },
  { column: 'samples.rolloutId', type: 'uuid' },
] as const;
export const SAMPLE_ORDERING = { name: 'samples/TREE', direction: 'asc', keys: TREE } as const satisfies Ordering;

/** Whether a filter names what few samples belong to, whatever the texts of their steps are. */
export function isSelective({ runId, treeId, taskId }: SampleFilter): boolean {
  return [runId, treeId, taskId].some((id) => id !== undefined);
}

/**
 * How the texts of a filter choose samples: those that took a step whose texts match, and those that may have, by the index of
 * words or since it was built.
 */
export type SampleTexts = 'matching' | 'holding';

/** The training samples of a filter, as a query to go on from. @param texts left empty, texts choose nothing. */
export function samplesOf(db: Db, filter: SampleFilter, texts: readonly SampleTexts[] = ['matching']) {
  let query = db
    .selectFrom('samples')
    .innerJoin('groups', 'groups.treeId', 'samples.treeId')
    .innerJoin('trainingRuns', 'trainingRuns.runId', 'groups.runId')
    .where('samples.finishedAt', 'is not', null)
    .where('trainingRuns.channel', '=', 'train');
  if (filter.policyId !== undefined) query = query.where('trainingRuns.policyId', '=', filter.policyId);
  if (filter.runId !== undefined) query = query.where('groups.runId', '=', filter.runId);
  if (filter.taskId !== undefined) query = query.where('groups.taskId', '=', filter.taskId);
  for (const condition of conditions(filter)) query = query.where(sql<boolean>`${condition}`);
  const { text } = filter;
  if (text === undefined) return query;
  for (const by of texts) query = query.where(sql<boolean>`${by === 'holding' ? holding(filter, text) : matching(filter, text)}`);
  return query;
}

function conditions({ runId: _run, taskId: _task, ...filter }: SampleFilter): RawBuilder<unknown>[] {
  const all: RawBuilder<unknown>[] = [
    sampleInState({ samples: 'samples', runs: 'trainingRuns' }, { state: filter.state, reason: filter.reason }),
  ];
  const trees = treesOf('samples.treeId', filter);
  if (trees) all.push(trees);
  if (filter.annotated !== undefined) all.push(rolloutAnnotated('samples', filter.annotated));
  if (filter.version !== undefined) all.push(sql`${filter.version} between samples.oldest_version and samples.newest_version`);
  return all;
}

/** The samples that took a step whose texts match: found by its words, or by the steps of each where few samples are chosen. */
function matching(filter: SampleFilter, text: TextQuery): RawBuilder<unknown> {
  if (isSelective(filter))
    return sql`exists (select from steps s where s.tree_id = samples.tree_id and s.rollout_id = samples.rollout_id
      and ${stepsMatching('s', text, 'all')})`;
  const arms = textArms(text).map(
    (arm) =>
      sql`(select s.rollout_id, s.tree_id from steps s where s.rollout_id is not null and ${stepsMatching('s', text, arm)} offset 0)`,
  );
  return sql`(samples.rollout_id, samples.tree_id) in (${sql.join(arms, sql` union all `)})`;
}

/** The samples of the chosen trees that took a step which holds the words, or which the index of texts does not hold yet. */
function holding({ runId, treeId, taskId }: SampleFilter, text: TextQuery): RawBuilder<unknown> {
  const of = {
    ...(runId === undefined ? {} : { runId }),
    ...(treeId === undefined ? {} : { treeId }),
    ...(taskId === undefined ? {} : { taskId }),
  };
  return sql`(samples.rollout_id, samples.tree_id) in (
    (select s.rollout_id, s.tree_id from steps s where s.rollout_id is not null and ${stepsMatching('s', text, 'holding')} offset 0) union all
    select s.rollout_id, s.tree_id from steps s where s.rollout_id is not null and s.occurred_at >= ${text.mark}::timestamptz
      and ${treesOf('s.treeId', of) ?? sql`true`})`;
}
