import { sql } from 'kysely';
import type { DataOf } from '../../events/catalogue.ts';
import type { Db } from '../../postgres/database.ts';
import type { OfTree } from '../of-tree.ts';

/** The result of an evaluation, as it was recorded. */
export type EvaluationRecord = DataOf<'EvaluationFinished'> & {
  readonly finishedAt: Date;
  /** Trees that are not measured whole: the environment failed, or did not repeat what was recorded in them. */
  readonly failedTrees: number;
  /** The failures that closed such trees, the commonest first; null: it did not repeat what was recorded. */
  readonly treeFaults: readonly { readonly fault: string | null; readonly trees: number }[];
};

/** The data that an evaluated policy was trained on. */
export type TrainedOnRecord = NonNullable<EvaluationRecord['trained']>;

/** Reads the evaluations of runs, in one statement, in no order; runs without one are left out. */
export async function readEvaluations(db: Db, runs: readonly string[]): Promise<readonly EvaluationRecord[]> {
  const { rows } = await sql<Row>`select ${RECORD} from evaluations where run_id = any(${[...runs]}::uuid[])`.execute(db);
  return rows.map(withMeasures);
}

/**
 * Reads the evaluations of policies that were trained on datasets, in that iteration or an earlier one, in one statement; each
 * dataset's as they finished.
 */
export async function readEvaluationsOfDatasets(
  db: Db,
  datasets: readonly string[],
): Promise<readonly (EvaluationRecord & { readonly datasetId: string })[]> {
  const { rows } = await sql<Row & { readonly datasetId: string }>`
    select d.id as dataset_id, ${RECORD}
    from evaluations, jsonb_array_elements_text(coalesce(trained -> 'datasetIds', '[]')) as d(id)
    where d.id = any(${[...datasets]}::text[]) order by d.id, finished_at, run_id`.execute(db);
  return rows.map(withMeasures);
}

type Columns = 'runId' | 'policy' | 'tasks' | 'meanReturn' | 'recovery' | 'trained' | 'finishedAt' | 'failedTrees' | 'treeFaults';
type Row = Pick<EvaluationRecord, Columns> & { readonly measures: Omit<EvaluationRecord, Columns> };

function withMeasures<R extends Row>({ measures, ...columns }: R) {
  return { ...measures, ...columns };
}

const RECORD = sql`run_id, json_build_object('policyId', policy_id, 'version', policy_version) as policy, tasks, mean_return, measures, trained,
           case when recovered_run_id is not null then json_build_object('fromRunId', recovered_run_id) end as recovery,
           (select count(*)::int from trees t where t.run_id = evaluations.run_id and t.close_reason = 'failed') as failed_trees,
           (select coalesce(json_agg(json_build_object('fault', f.close_fault, 'trees', f.trees) order by f.trees desc, f.close_fault), '[]')
            from (select t.close_fault, count(*)::int as trees from trees t
                  where t.run_id = evaluations.run_id and t.close_reason = 'failed' group by t.close_fault) f) as tree_faults,
           finished_at`;

/**
 * A finished rollout as an evaluation measures it; `actions` are its own, first to last, without those of the path it began
 * behind.
 */
export interface EpisodeRecord {
  readonly rolloutId: string;
  readonly taskId: string;
  readonly taskDepth: number | null;
  readonly split: string | null;
  /** Null where nobody rewarded it. */
  readonly return: number | null;
  readonly success: boolean;
  readonly actions: readonly string[];
}

/**
 * Reads the finished rollouts of a run, in the order of their ids. An action that lies in the blob store (over 64 KiB) reads as
 * ''.
 */
export async function readEpisodes(db: Db, runId: string): Promise<readonly EpisodeRecord[]> {
  const { rows } = await sql<EpisodeRecord>`
    select o.rollout_id, o.task_id, t.task_depth, t.split,
           v.value as "return", coalesce(o.success, false) as success,
           coalesce(array_agg(s.action order by s.depth) filter (where s.step_id is not null), '{}') as actions
    from rollouts o
    join trees t using (tree_id)
    left join returns v using (rollout_id, tree_id)
    left join steps s on s.tree_id = o.tree_id and s.rollout_id = o.rollout_id
    where o.run_id = ${runId} and o.finished_at is not null
    group by o.rollout_id, o.tree_id, o.task_id, t.task_depth, t.split, v.value, o.success
    order by o.rollout_id, o.tree_id`.execute(db);
  return rows;
}

/** A rollout that was taken from the first observation to its end, and did not succeed: its return or the environment says so. */
export interface FailedRollout {
  readonly treeId: string;
  readonly rolloutId: string;
  readonly alias: string;
  readonly steps: number;
}

/**
 * Reads the failed rollouts of a run that have a step to cut behind and one to cut off, in the order of their tasks and ordinals.
 */
export async function readFailures(db: Db, runId: string): Promise<readonly FailedRollout[]> {
  const { rows } = await sql<FailedRollout>`
    select o.tree_id, o.rollout_id, t.alias, o.steps
    from rollouts o join trees t using (tree_id) left join returns v using (rollout_id, tree_id)
    where o.run_id = ${runId} and o.outcome in ('terminated', 'truncated') and o.success is not true and coalesce(v.value <= 0, not o.success, false)
      and o.from_step_id = t.root_step_id and o.steps >= 2
    order by t.tree_id, o.ordinal`.execute(db);
  return rows;
}

/** Reads the step that a rollout took at a depth; null where it took none. */
export async function readStepOf(db: Db, rollout: OfTree, depth: number): Promise<string | null> {
  const step = await db
    .selectFrom('steps')
    .select('stepId')
    .where('treeId', '=', rollout.treeId)
    .where('rolloutId', '=', rollout.id)
    .where('depth', '=', depth)
    .executeTakeFirst();
  return step?.stepId ?? null;
}
