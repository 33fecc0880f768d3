import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { Tables } from '../../postgres/tables.ts';
import { type OfTree, pairsOf } from '../of-tree.ts';
import { type RunRecord, toRun } from './read-runs.ts';

/** Where a run goes on from. */
export interface ForkOrigin {
  readonly runId: string;
  readonly treeId: string;
  readonly stepId: string;
}

/** A run that goes on from a recorded step, and where it comes from. */
export interface ForkRecord extends ForkOrigin {
  readonly run: RunRecord;
}

/** Reads the runs that go on from steps of other runs, in one statement, as they started. */
export async function readForksOfRuns(db: Db, runs: readonly string[]): Promise<readonly ForkRecord[]> {
  return forksWhere(db, sql`config #>> '{fork,runId}' = any(${[...runs]}::text[])`);
}

/** Reads the runs that go on from steps, in one statement, as they started. */
export async function readForksOfSteps(db: Db, steps: readonly OfTree[]): Promise<readonly ForkRecord[]> {
  const step = sql`(config #>> '{fork,stepId}', config #>> '{fork,treeId}')`;
  return forksWhere(db, sql`${step} in (select w.id::text, w.tree_id::text from ${pairsOf(steps)} w)`);
}

async function forksWhere(db: Db, where: RawBuilder<unknown>): Promise<readonly ForkRecord[]> {
  const { rows } = await sql<Selectable<Tables['runs']>>`
    select * from runs where kind = 'fork' and ${where}
    order by started_at, run_id`.execute(db);
  return rows.flatMap((row) => {
    const origin = originOf(row.config);
    return origin ? [{ run: toRun(row), ...origin }] : [];
  });
}

/** Returns where a run comes from by its configuration; null for one that is no fork of ours. */
export function originOf(config: unknown): ForkOrigin | null {
  const fork = (config as { readonly fork?: Partial<ForkOrigin> } | null)?.fork; // whatever its producer wrote: looked at below
  const { runId, treeId, stepId } = fork ?? {};
  return typeof runId === 'string' && typeof treeId === 'string' && typeof stepId === 'string' ? { runId, treeId, stepId } : null;
}
