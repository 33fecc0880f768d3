import { sql } from 'kysely';
import type { DataOf } from '../../events/catalogue.ts';
import type { Db } from '../../postgres/database.ts';

/** The result of an evaluation, as it was recorded. */
export type EvaluationRecord = DataOf<'EvaluationFinished'> & {
  readonly finishedAt: Date;
  /** Trees that are not measured whole: the environment did not repeat what was recorded in them. */
  readonly failedTrees: number;
};

/** The data that an evaluated policy was trained on. */
export type TrainedOnRecord = NonNullable<EvaluationRecord['trained']>;

/** Reads the evaluations of runs, in one statement, in no order; runs without one are left out. */
export async function readEvaluations(db: Db, runs: readonly string[]): Promise<readonly EvaluationRecord[]> {
  const { rows } = await sql<EvaluationRecord>`
    select ${RECORD} from evaluations where run_id = any(${[...runs]}::uuid[])`.execute(db);
  return rows;
}

/**
 * Reads the evaluations of policies that were trained on datasets, in that iteration or an earlier one, in one statement; each
 * dataset's as they finished.
 */
export async function readEvaluationsOfDatasets(
  db: Db,
  datasets: readonly string[],
): Promise<readonly (EvaluationRecord & { readonly datasetId: string })[]> {
  const { rows } = await sql<EvaluationRecord & { readonly datasetId: string }>`
    select d.id as dataset_id, ${RECORD}
    from evaluations, jsonb_array_elements_text(coalesce(trained -> 'datasetIds', '[]')) as d(id)
    where d.id = any(${[...datasets]}::text[]) order by d.id, finished_at, run_id`.execute(db);
  return rows;
}

const RECORD = sql`run_id, json_build_object('policyId', policy_id, 'version', policy_version) as policy, environment, split,
           tasks, episodes, mean_return, success_rate, mean_steps,
           json_build_object('low', return_low, 'high', return_high) as return_interval,
           json_build_object('low', success_low, 'high', success_high) as success_interval,
           bootstrap, repeated_actions, by_depth, trained,
           case when recovered_run_id is not null then json_build_object('fromRunId', recovered_run_id) end as recovery,
           (select count(*)::int from trees t where t.run_id = evaluations.run_id and t.close_reason = 'failed') as failed_trees,
           finished_at`;
