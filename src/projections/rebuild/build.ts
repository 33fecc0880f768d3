import { type RawBuilder, sql } from 'kysely';
import type { Db, Trx } from '../../postgres/database.ts';
import { isDatabaseFault } from '../fault.ts';
import type { Projection } from '../projection.ts';

/** A version of a projection that is folded next to the live one, into a schema with cursors and a quarantine of its own. */
export interface Build {
  /** The code, by the name under which the live version is known. */
  readonly projection: Projection;
  /** The same code, as what it folds into: `name@version`. */
  readonly shadow: Projection;
  readonly version: number;
  /** When it was begun, as Postgres prints it: one that is dropped and begun again has the same number, and is another build. */
  readonly begunAt: string;
  readonly schema: string;
  /** True when an earlier process began it. */
  readonly resumed: boolean;
}

/** The right to rebuild a projection, or the build itself, is another process's by now: this one was silent for too long. */
export class RebuildLost extends Error {
  override readonly name = 'RebuildLost';
  constructor(projection: string, cause: unknown) {
    super(
      `${projection} is being rebuilt by another process: this one was stopped, or away from the database, for too long; wait for the other`,
      { cause },
    );
  }
}

/** A condition on `projection_builds b`: the row is of this build. */
export function isRowOf({ projection, version, begunAt }: Build): RawBuilder<boolean> {
  return sql<boolean>`(b.projection = ${projection.name} and b.version = ${version} and b.begun_at = ${begunAt}::timestamptz)`;
}

/** Reads whether nobody has dropped this build, or let it take over. */
export async function isOpen(db: Db, build: Build): Promise<boolean> {
  const { rows } = await sql`select from projection_builds b where ${isRowOf(build)}`.execute(db);
  return rows.length > 0;
}

/** Holds the row of a build, so that nobody drops it before the transaction ends. @throws RebuildLost when it is gone. */
export async function refuseReplaced(trx: Trx, build: Build): Promise<void> {
  const { rows } = await sql`select from projection_builds b where ${isRowOf(build)} for update`.execute(trx);
  if (rows.length === 0) throw new RebuildLost(build.projection.name, null);
}

/**
 * Returns what an error in the work on a build means. What fails because another process dropped the build, and perhaps began one
 * of the same number, says nothing about the record.
 */
export async function explainBuildError(db: Db, build: Build, error: unknown): Promise<unknown> {
  if (isDatabaseFault(error) || error instanceof RebuildLost) return error;
  const open = await isOpen(db, build).catch(() => true);
  return open ? error : new RebuildLost(build.projection.name, error);
}
