import { sql } from 'kysely';
import type { DataOf } from '../../events/catalogue.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';

/** What came out of a stage. */
export type StageOutput = NonNullable<DataOf<'StageFinished'>['output']>;

/** How a stage of an experiment ended. */
export type StageRecord = DataOf<'StageFinished'> & { readonly finishedAt: Date };

/** What an experiment declared of its stages. */
export interface ExperimentPlanRecord {
  readonly experimentId: string;
  readonly declaration: Readonly<Record<string, unknown>>;
  readonly rerunOf: string | null;
}

/**
 * Reads the ends of the stages of experiments, one per arm, repetition and stage: that which completed, else the last failure. In
 * the order in which they ended.
 */
export async function readStages(db: Db, experiments: readonly string[]): Promise<readonly StageRecord[]> {
  const { rows } = await sql<StageRecord>`
    select * from (
      select distinct on (experiment_id, arm, seed, stage) experiment_id, arm, stage, kind, seed, key, outcome, message,
             reused_from, output, finished_at
      from experiment_stages where experiment_id = any(${[...experiments]}::uuid[])
      order by experiment_id, arm, seed, stage, outcome, finished_at desc, event_id
    ) as last order by experiment_id, finished_at, arm, seed, stage`.execute(db);
  return rows.map((row) => ({ ...row, seed: Number(row.seed) }));
}

/** Reads a completed stage of this key, whichever experiment it belongs to: the first. */
export async function readStageByKey(db: Db, key: string): Promise<StageRecord | undefined> {
  const { rows } = await sql<StageRecord>`
    select experiment_id, arm, stage, kind, seed, key, outcome, message, reused_from, output, finished_at
    from experiment_stages where key = ${key} and outcome = 'completed'
    order by finished_at, event_id limit 1`.execute(db);
  return rows[0] && { ...rows[0], seed: Number(rows[0].seed) };
}

/** Reads what experiments declared, in one statement, in no order; those that declared no stages are left out. */
export async function readExperimentPlans(db: Db, experiments: readonly string[]): Promise<readonly ExperimentPlanRecord[]> {
  return rowsWhere(db, 'experimentPlans', { experimentId: experiments }, ['experimentId', 'declaration', 'rerunOf']);
}

/** An experiment that declared stages, with how many of them completed and how often one failed. */
export interface ExperimentCounts {
  readonly id: string;
  readonly name: string;
  readonly declaredAt: Date;
  readonly completed: number;
  readonly failed: number;
}

/** Counts the stages of experiments that declared some, the newest first: of these, or of all. */
export async function readExperimentCounts(db: Db, of: readonly string[] | 'all'): Promise<readonly ExperimentCounts[]> {
  const { rows } = await sql<ExperimentCounts>`
    select e.experiment_id as id, e.name, e.declared_at,
           count(distinct (s.arm, s.seed, s.stage)) filter (where s.outcome = 'completed')::int as completed,
           count(*) filter (where s.outcome = 'failed')::int as failed
    from experiment_plans p join experiments e using (experiment_id) left join experiment_stages s using (experiment_id)
    where ${of === 'all' ? sql`true` : sql`e.experiment_id = any(${[...of]}::uuid[])`}
    group by e.experiment_id, e.name, e.declared_at order by e.declared_at desc, e.experiment_id`.execute(db);
  return rows;
}
