import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { countEach, countUpTo, type Page, type PageRequest, readPages, type UpTo } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { type AnnotatedFilter, rolloutAnnotated } from '../annotations/annotated.ts';
import type { SampleState } from '../training-pool/read-samples.ts';
import { measureSearch, SearchTooWide } from './plan-search.ts';
import { sampleIs } from './sample-state.ts';
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

/** Reads the ids of one page of training samples. @throws InvalidCursor. */
export async function readChosenSamples(
  db: Db,
  filter: SampleFilter,
  page: PageRequest,
): Promise<Page<{ readonly rolloutId: string }>> {
  const [found] = await readPages(db, [chosenSamples(db, filter).select('samples.rolloutId')], SAMPLE_ORDERING, page);
  if (!found) throw new Error('one query has one page');
  return found;
}

/** Counts the training samples of a filter. */
export async function countChosenSamples(db: Db, filter: SampleFilter): Promise<number> {
  const [count = 0] = await countEach(db, [chosenSamples(db, filter)]);
  return count;
}

/** Counts the training samples of a filter up to a number. */
export function countSamplesUpTo(db: Db, filter: SampleFilter, upTo: number): Promise<UpTo> {
  return countUpTo(db, chosenSamples(db, filter), SAMPLE_ORDERING, upTo);
}

const HOLDING = 30_000; // steps that the index finds by itself, in milliseconds
const LOOKED_AT = 2_000; // steps whose texts are looked at

/** Refuses words that the texts of too many steps hold, where nothing else chooses few. @throws SearchTooWide. */
export async function checkSampleSearch(db: Db, { text, ...filter }: SampleFilter): Promise<void> {
  if (!text || text.mark === null || isOfFew(filter)) return;
  const { within, exact } = await measureSearch(db, { ...text, mark: text.mark }, filter);
  const most = exact ? HOLDING : LOOKED_AT;
  if (within <= most) return;
  throw new SearchTooWide(
    `up to ${Math.ceil(within)} steps hold these words, and samples are found by at most ${most}; name a run, a tree or a task, or search \`steps\` and ask for the samples of their rollouts`,
  );
}

function isOfFew({ runId, treeId, taskId }: SampleFilter): boolean {
  return [runId, treeId, taskId].some((id) => id !== undefined);
}

/** The samples that took a step whose texts match: found by its words, or by the steps of each where few samples are chosen. */
function matching(filter: SampleFilter, text: TextQuery): RawBuilder<unknown> {
  if (isOfFew(filter))
    return sql`exists (select from steps s where s.tree_id = samples.tree_id and s.rollout_id = samples.rollout_id
      and ${stepsMatching('s', text, 'all')})`;
  const arms = textArms(text).map(
    (arm) => sql`(select s.rollout_id from steps s where s.rollout_id is not null and ${stepsMatching('s', text, arm)} offset 0)`,
  );
  return sql`samples.rollout_id in (${sql.join(arms, sql` union all `)})`;
}

/** The training samples of a filter, as a query to go on from. */
export function chosenSamples(db: Db, filter: SampleFilter) {
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
  return query;
}

function conditions(given: SampleFilter): RawBuilder<unknown>[] {
  const { runId: _run, taskId: _task, ...filter } = given;
  const all: RawBuilder<unknown>[] = [sampleIs('samples', { state: filter.state, reason: filter.reason })];
  const trees = treesOf('samples.treeId', filter);
  if (trees) all.push(trees);
  if (filter.text !== undefined) all.push(matching(given, filter.text));
  if (filter.annotated !== undefined) all.push(rolloutAnnotated('samples', filter.annotated));
  if (filter.version !== undefined) all.push(sql`${filter.version} between samples.oldest_version and samples.newest_version`);
  return all;
}
