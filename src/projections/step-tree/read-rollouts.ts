import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { listOf, whereEqual } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';
import { type AnnotatedFilter, rolloutAnnotated } from '../annotations/annotated.ts';
import { type OfTree, pairsOf } from '../of-tree.ts';

type Row = Selectable<Tables['rollouts']>;

export interface RolloutRecord extends Omit<Row, 'rolloutId' | 'policyId' | 'policyVersion' | 'steps'> {
  readonly id: string;
  readonly policy: { readonly id: string; readonly version: number };
  readonly stepCount: number | null;
}
/** What rollouts are chosen by; a part that is left out chooses all. Ranges are [from, until). */
export interface RolloutFilter {
  readonly runId?: string;
  readonly treeId?: string;
  readonly taskId?: string;
  readonly environment?: string;
  readonly outcomes?: readonly string[];
  readonly finished?: boolean;
  readonly success?: boolean;
  /** What they, or a step that they took, are annotated with. */
  readonly annotated?: AnnotatedFilter;
  readonly policyId?: string;
  readonly policyVersionFrom?: number;
  readonly policyVersionUntil?: number;
  readonly finishedFrom?: Date;
  readonly finishedUntil?: Date;
}

const ROLLOUT = [
  { column: 'rollouts.rolloutId', type: 'uuid' },
  { column: 'rollouts.treeId', type: 'uuid' },
] as const;
// A rollout that goes on has no finish: it comes last in ascending order, first in descending order.
const FINISHED = [{ column: 'rollouts.finishedAt', type: 'instant?' }, ...ROLLOUT] as const;
const STEPS = [{ column: 'rollouts.steps', type: 'integer?' }, ...ROLLOUT] as const;
export const ROLLOUT_ORDERINGS = {
  FINISHED_ASC: { name: 'rollouts/FINISHED_ASC', direction: 'asc', keys: FINISHED },
  FINISHED_DESC: { name: 'rollouts/FINISHED_DESC', direction: 'desc', keys: FINISHED },
  STEPS_ASC: { name: 'rollouts/STEPS_ASC', direction: 'asc', keys: STEPS },
  STEPS_DESC: { name: 'rollouts/STEPS_DESC', direction: 'desc', keys: STEPS },
} as const satisfies Record<string, Ordering>;

const { pages, counts } = listOf((db, filter: RolloutFilter) => chosenRollouts(db, filter).selectAll('rollouts'), toRollout);

/** Reads one page of rollouts for each filter, in one statement. @throws InvalidCursor. */
export const readRollouts = pages;

/** Counts the rollouts of each filter: where the folds keep the counts of its run, by these, and all others in one statement. */
export async function countRollouts(db: Db, filters: readonly RolloutFilter[]): Promise<readonly number[]> {
  const kept = filters.map(keptCount);
  const runs = new Set(kept.flatMap((count) => count?.runId ?? []));
  const [rows, counted] = await Promise.all([
    runs.size === 0 ? [] : wholeRowsWhere(db, 'runCounts', { runId: runs }),
    counts(
      db,
      filters.filter((_, i) => kept[i] === null),
    ),
  ]);
  const others = counted.values();
  return kept.map((count) => {
    if (count === null) return others.next().value ?? 0;
    const ofRun = rows.filter(({ runId }) => runId === count.runId); // a row for each partition
    return ofRun.reduce((sum, row) => count.columns.reduce((total, column) => total + row[column], sum), 0);
  });
}

const OUTCOMES = ['terminated', 'truncated', 'failed', 'cancelled'] as const;

interface KeptCount {
  readonly runId: string;
  readonly columns: readonly ((typeof OUTCOMES)[number] | 'rollouts')[];
}

/** The counts of a run that hold how many rollouts a filter chooses; null where none do. */
function keptCount({ runId, outcomes, finished, ...others }: RolloutFilter): KeptCount | null {
  if (runId === undefined || finished === false || Object.values(others).some((part) => part !== undefined)) return null;
  if (outcomes !== undefined) return { runId, columns: OUTCOMES.filter((outcome) => outcomes.includes(outcome)) };
  return { runId, columns: finished ? OUTCOMES : ['rollouts'] };
}

/** Reads rollouts, in one statement, in no order; those that are unknown are left out. */
export async function readRolloutsNamed(db: Db, rollouts: readonly OfTree[]): Promise<readonly RolloutRecord[]> {
  const { rows } = await sql<Row>`
    select r.* from ${pairsOf(rollouts)} w join rollouts r on r.rollout_id = w.id and r.tree_id = w.tree_id`.execute(db);
  return rows.map(toRollout);
}

/** Reads rollouts by their ids alone, likewise; of an id that several trees have, all. */
export async function readRolloutsById(db: Db, ids: readonly string[]): Promise<readonly RolloutRecord[]> {
  const rows = await wholeRowsWhere(db, 'rollouts', { rolloutId: ids });
  return rows.map(toRollout);
}

/** Reads all rollouts of trees, by their ordinal. */
export async function readRolloutsOfTrees(db: Db, trees: readonly string[]): Promise<readonly RolloutRecord[]> {
  const rows = await wholeRowsWhere(db, 'rollouts', { treeId: trees }, ['ordinal', 'rolloutId']);
  return rows.map(toRollout);
}

/** The rollouts of a filter, as a query to go on from. */
export function chosenRollouts(db: Db, filter: RolloutFilter) {
  let query = whereEqual(db.selectFrom('rollouts'), 'rollouts', filter, [
    ...(['runId', 'treeId', 'environment', 'success', 'policyId'] as const),
  ]);
  const { taskId } = filter;
  if (taskId !== undefined)
    // through its trees, which are indexed by task, as the list of a few that they are: Postgres reads all rollouts for a join
    query = query
      .where('rollouts.taskId', '=', taskId)
      .where((eb) => eb('rollouts.treeId', '=', eb.fn.any(treesOfTask(db, taskId))));
  if (filter.outcomes !== undefined)
    // a list of texts; `any` also takes an empty one
    query = query.where((eb) => eb('rollouts.outcome', '=', eb.fn.any(eb.val([...(filter.outcomes ?? [])] as never[]))));
  if (filter.finished !== undefined) query = query.where('rollouts.finishedAt', filter.finished ? 'is not' : 'is', null);
  if (filter.annotated !== undefined) query = query.where(rolloutAnnotated('rollouts', filter.annotated));
  if (filter.policyVersionFrom !== undefined) query = query.where('rollouts.policyVersion', '>=', filter.policyVersionFrom);
  if (filter.policyVersionUntil !== undefined) query = query.where('rollouts.policyVersion', '<', filter.policyVersionUntil);
  if (filter.finishedFrom !== undefined) query = query.where('rollouts.finishedAt', '>=', filter.finishedFrom);
  if (filter.finishedUntil !== undefined) query = query.where('rollouts.finishedAt', '<', filter.finishedUntil);
  return query;
}

function treesOfTask(db: Db, taskId: string) {
  const trees = db.selectFrom('trees').select('trees.treeId').where('trees.taskId', '=', taskId);
  return sql<string[]>`array(${trees})`;
}

export function toRollout({ rolloutId, policyId, policyVersion, steps, ...row }: Row): RolloutRecord {
  return { id: rolloutId, policy: { id: policyId, version: policyVersion }, stepCount: steps, ...row };
}
