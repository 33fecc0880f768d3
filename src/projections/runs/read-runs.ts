import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { listOf, whereEqual } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';

type Row = Selectable<Tables['runs']>;

export interface RunRecord extends Omit<Row, 'runId' | 'policyId' | 'policyVersion'> {
  readonly id: string;
  readonly policy: { readonly id: string; readonly version: number } | null;
}
/** What runs are chosen by; a part that is left out chooses all. Times are [from, until). */
export interface RunFilter {
  readonly experimentId?: string;
  readonly kind?: string;
  readonly outcome?: string;
  readonly running?: boolean;
  readonly environment?: string;
  readonly policyId?: string;
  /** Words of which each begins one of its id, its name or its message. */
  readonly text?: string;
  /** A label that something of it is annotated with. */
  readonly label?: string;
  readonly startedFrom?: Date;
  readonly startedUntil?: Date;
}

const STARTED = [
  { column: 'runs.startedAt', type: 'instant' },
  { column: 'runs.runId', type: 'uuid' },
] as const;
export const RUN_ORDERINGS = {
  STARTED_ASC: { name: 'runs/STARTED_ASC', direction: 'asc', keys: STARTED },
  STARTED_DESC: { name: 'runs/STARTED_DESC', direction: 'desc', keys: STARTED },
} as const satisfies Record<string, Ordering>;

/** The pages of runs, and their counts. */
export const { pages: readRuns, counts: countRuns } = listOf(
  (db, filter: RunFilter) => chosen(db, filter).selectAll('runs'),
  toRun,
);

/** Reads runs by their ids, in one statement, in no order; ids that are unknown are left out. */
export async function readRunsById(db: Db, ids: readonly string[]): Promise<readonly RunRecord[]> {
  const rows = await wholeRowsWhere(db, 'runs', { runId: ids });
  return rows.map(toRun);
}

/** Reads a run by its id; undefined for an unknown one. */
export async function readRun(db: Db, runId: string): Promise<RunRecord | undefined> {
  const [run] = await readRunsById(db, [runId]);
  return run;
}

/** Reads the runs that were started last, newest first. */
export async function readNewestRuns(db: Db, limit: number): Promise<readonly RunRecord[]> {
  const rows = await db.selectFrom('runs').selectAll().orderBy('startedAt', 'desc').limit(limit).execute();
  return rows.map(toRun);
}

function chosen(db: Db, filter: RunFilter) {
  let query = whereEqual(db.selectFrom('runs'), 'runs', filter, ['kind', 'outcome', 'policyId']);
  if (filter.experimentId !== undefined) query = query.where(sql<boolean>`${ofExperiment(filter.experimentId)}`);
  if (filter.running !== undefined) query = query.where('runs.finishedAt', filter.running ? 'is' : 'is not', null);
  if (filter.startedFrom !== undefined) query = query.where('runs.startedAt', '>=', filter.startedFrom);
  if (filter.startedUntil !== undefined) query = query.where('runs.startedAt', '<', filter.startedUntil);
  const words = filter.text === undefined ? [] : wordsOf(filter.text);
  if (words.length > 0)
    query = query.where(sql<boolean>`${WORDS} @@ to_tsquery('simple', ${words.map((w) => `${w}:*`).join(' & ')})`);
  if (filter.label !== undefined)
    query = query.where(
      sql<boolean>`runs.run_id in (select a.run_id from annotations a where a.label = ${filter.label} and a.retracted_at is null)`,
    );
  const { environment } = filter;
  if (environment !== undefined)
    query = query.where((eb) => eb(eb.cast('runs.environments', 'jsonb'), '@>', JSON.stringify([{ environment }])));
  return query;
}

/** Those that were started for an experiment, and those that its stages made in trainings, forks and imports, or reused. */
function ofExperiment(experimentId: string): RawBuilder<unknown> {
  return sql`(runs.experiment_id = ${experimentId}::uuid or runs.run_id in (
    select r.id::uuid from experiment_stages s cross join lateral jsonb_array_elements_text(s.output -> 'runIds') as r (id)
    where s.experiment_id = ${experimentId}::uuid))`;
}

/** As the index `runs_words` has it. */
const WORDS = sql`to_tsvector('simple'::regconfig, regexp_replace(lower(runs.run_id::text || ' ' || runs.name || ' ' || coalesce(runs.message, '')), '[^[:alnum:]]+', ' ', 'g'))`;

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

export function toRun({ runId, policyId, policyVersion, ...row }: Row): RunRecord {
  return { id: runId, policy: policyId === null ? null : { id: policyId, version: policyVersion ?? 0 }, ...row };
}

/** Why a run measures: it is an evaluation, or of another channel than `train`. */
export type MeasuringRun = 'evaluation' | 'other-channel';

/**
 * Reads the runs that measure: evaluations, and runs of another channel than `train`. A run without a channel was collected to
 * learn from.
 */
export async function readMeasuringRuns(db: Db): Promise<ReadonlyMap<string, MeasuringRun>> {
  const { rows } = await sql<{ runId: string; kind: MeasuringRun }>`
    select run_id, case when kind = 'evaluate' then 'evaluation' else 'other-channel' end as kind from runs
    where kind = 'evaluate' or config #>> '{training,channel}' <> 'train'`.execute(db);
  return new Map(rows.map(({ runId, kind }) => [runId, kind]));
}

/** Reads the runs that began with a policy and act in an environment, the last to start first, at most so many. */
export async function readRunIdsOf(
  db: Db,
  { policyId, environment }: { readonly policyId?: string; readonly environment?: string },
  limit: number,
): Promise<readonly string[]> {
  let runs = db.selectFrom('runs').select('runId').orderBy('startedAt', 'desc').orderBy('runId').limit(limit);
  if (policyId !== undefined) runs = runs.where('policyId', '=', policyId);
  if (environment !== undefined) runs = runs.where(sql<boolean>`environments @> ${JSON.stringify([{ environment }])}::jsonb`);
  return (await runs.execute()).map(({ runId }) => runId);
}
