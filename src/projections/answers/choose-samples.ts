import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { countEach, type Page, type PageRequest, readPages } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import type { SampleState } from '../training-pool/read-samples.ts';
import { sampleIs } from './sample-state.ts';
import { type OfTrees, treesOf } from './trees-of.ts';

/** What training samples are chosen by; a part that is left out chooses all. */
export interface SampleFilter extends OfTrees {
  /** The policy that they train. */
  readonly policyId?: string;
  readonly state?: SampleState;
  readonly reason?: string;
  /** The version of a span of theirs. */
  readonly version?: number;
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
  const [found] = await readPages(db, [chosen(db, filter).select('samples.rolloutId')], SAMPLE_ORDERING, page);
  if (!found) throw new Error('one query has one page');
  return found;
}

/** Counts the training samples of a filter. */
export async function countChosenSamples(db: Db, filter: SampleFilter): Promise<number> {
  const [count = 0] = await countEach(db, [chosen(db, filter)]);
  return count;
}

function chosen(db: Db, filter: SampleFilter) {
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

function conditions({ runId: _run, taskId: _task, ...filter }: SampleFilter): RawBuilder<unknown>[] {
  const all: RawBuilder<unknown>[] = [sampleIs('samples', { state: filter.state, reason: filter.reason })];
  const trees = treesOf('samples.treeId', filter);
  if (trees) all.push(trees);
  if (filter.version !== undefined) all.push(sql`${filter.version} between samples.oldest_version and samples.newest_version`);
  return all;
}
