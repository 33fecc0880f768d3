import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';

export interface RenderSpecRecord {
  /** The SHA-256 of the canonical JSON of `spec`. */
  readonly id: string;
  /** Everything that determines pixels. */
  readonly spec: unknown;
}
/** A spec that a run draws by, with the name under which the run knows it. */
export interface RunRenderSpecRecord extends RenderSpecRecord {
  readonly runId: string;
  readonly profile: string;
  readonly registeredAt: Date;
}

/** Reads render specs by their ids, in no order; those that are not on record are left out. */
export async function readRenderSpecs(db: Db, ids: readonly string[]): Promise<readonly RenderSpecRecord[]> {
  if (ids.length === 0) return [];
  return rowsWhere(db, 'renderSpecs', { renderSpecId: ids }, ['renderSpecId as id', 'spec']);
}

/** Reads the specs that runs draw by, those of a run in the order in which it registered them. */
export async function readRenderSpecsOfRuns(db: Db, runs: readonly string[]): Promise<readonly RunRenderSpecRecord[]> {
  if (runs.length === 0) return [];
  const { rows } = await sql<RunRenderSpecRecord>`
    select r.run_id, r.profile, r.registered_at, s.render_spec_id as id, s.spec
    from run_render_specs r join render_specs s using (render_spec_id)
    where r.run_id = any(${[...runs]}::uuid[]) order by r.run_id, r.registered_at, r.render_spec_id`.execute(db);
  return rows;
}
