import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { countEach, mapPages, type Page, type PageRequest, readPages } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';
import { type AnnotatedFilter, rolloutAnnotated } from '../annotations/annotated.ts';
import { type OfTree, pairsOf } from '../of-tree.ts';

export interface RolloutRecord {
  readonly id: string;
  readonly treeId: string;
  readonly runId: string;
  readonly taskId: string;
  readonly environment: string;
  readonly fromStepId: string;
  readonly ordinal: number;
  readonly seed: number;
  readonly policy: { readonly id: string; readonly version: number };
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  readonly outcome: 'terminated' | 'truncated' | 'failed' | 'cancelled' | null;
  readonly success: boolean | null;
  readonly leafStepId: string | null;
  readonly stepCount: number | null;
  readonly reason: string | null;
  readonly unclearCalls: number | null;
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

/** Reads one page of rollouts for each filter, in one statement. @throws InvalidCursor. */
export async function readRollouts(
  db: Db,
  filters: readonly RolloutFilter[],
  ordering: Ordering,
  page: PageRequest,
): Promise<readonly Page<RolloutRecord>[]> {
  const queries = filters.map((filter) => chosenRollouts(db, filter).selectAll('rollouts'));
  return mapPages(await readPages(db, queries, ordering, page), toRollout);
}

/** Counts the rollouts of each filter: where the folds keep the counts of its run, by these, and all others in one statement. */
export async function countRollouts(db: Db, filters: readonly RolloutFilter[]): Promise<readonly number[]> {
  const kept = filters.map(keptCount);
  const runs = new Set(kept.flatMap((count) => count?.runId ?? []));
  const [rows, counted] = await Promise.all([
    runs.size === 0 ? [] : wholeRowsWhere(db, 'runCounts', { runId: runs }),
    countEach(
      db,
      filters.filter((_, i) => kept[i] === null).map((filter) => chosenRollouts(db, filter)),
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
  const { rows } = await sql<Selectable<Tables['rollouts']>>`
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
  let query = db.selectFrom('rollouts');
  if (filter.runId !== undefined) query = query.where('rollouts.runId', '=', filter.runId);
  if (filter.treeId !== undefined) query = query.where('rollouts.treeId', '=', filter.treeId);
  const { taskId } = filter;
  if (taskId !== undefined)
    // through its trees, which are indexed by task, as the list of a few that they are: Postgres reads all rollouts for a join
    query = query
      .where('rollouts.taskId', '=', taskId)
      .where((eb) => eb('rollouts.treeId', '=', eb.fn.any(treesOfTask(db, taskId))));
  if (filter.environment !== undefined) query = query.where('rollouts.environment', '=', filter.environment);
  if (filter.outcomes !== undefined)
    // a list of texts; `any` also takes an empty one
    query = query.where((eb) => eb('rollouts.outcome', '=', eb.fn.any(eb.val([...(filter.outcomes ?? [])] as never[]))));
  if (filter.finished !== undefined) query = query.where('rollouts.finishedAt', filter.finished ? 'is not' : 'is', null);
  if (filter.success !== undefined) query = query.where('rollouts.success', '=', filter.success);
  if (filter.annotated !== undefined) query = query.where(rolloutAnnotated('rollouts', filter.annotated));
  if (filter.policyId !== undefined) query = query.where('rollouts.policyId', '=', filter.policyId);
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

export function toRollout(row: Selectable<Tables['rollouts']>): RolloutRecord {
  return {
    id: row.rolloutId,
    treeId: row.treeId,
    runId: row.runId,
    taskId: row.taskId,
    environment: row.environment,
    fromStepId: row.fromStepId,
    ordinal: row.ordinal,
    seed: row.seed,
    policy: { id: row.policyId, version: row.policyVersion },
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    outcome: row.outcome,
    success: row.success,
    leafStepId: row.leafStepId,
    stepCount: row.steps,
    reason: row.reason,
    unclearCalls: row.unclearCalls,
  };
}
