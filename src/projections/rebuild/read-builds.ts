import type { Db } from '../../postgres/database.ts';
import { buildOf, codeVersionOf, schemaNameOf } from '../projection.ts';
import type { BuildProgress } from './watch-build.ts';

/** A version of a projection next to the live one. */
export interface BuildStatus {
  readonly projection: string;
  /** Of the code: that of its tables and meaning. */
  readonly version: number;
  /** Which fold by that code it is, from 1. */
  readonly build: number;
  readonly schema: string;
  /**
   * `building`: it is folded, or was when who folded it ended; `kept`: it was live before, also while it catches up to be so
   * again.
   */
  readonly state: 'building' | 'kept';
  readonly begunAt: Date;
  /** What its builder reported last, and when; null before the first report, and of what is kept. */
  readonly progress: (Omit<BuildProgress, 'projection'> & { readonly toldAt: Date }) | null;
}

/** Reads the numbers of a projection's versions that are kept, or being built, next to the live one, the newest first. */
export async function readShadowVersions(db: Db, projection: string, state: BuildStatus['state']): Promise<readonly number[]> {
  const rows = await db
    .selectFrom('projectionBuilds')
    .select('version')
    .where('projection', '=', projection)
    .where('state', '=', state)
    .orderBy('begunAt', 'desc')
    .execute();
  return rows.map(({ version }) => version);
}

/** Reads the versions next to the live ones, by projection, the one that was begun last first. */
export async function readBuilds(db: Db): Promise<readonly BuildStatus[]> {
  const rows = await db.selectFrom('projectionBuilds').selectAll().orderBy('projection').orderBy('begunAt', 'desc').execute();
  return rows.map(({ projection, version, state, begunAt, done, of, rate, toldAt }) => ({
    projection,
    version: codeVersionOf(version),
    build: buildOf(version),
    schema: schemaNameOf({ name: projection, version }),
    state,
    begunAt,
    progress:
      state === 'kept' || done === null || of === null || rate === null || toldAt === null
        ? null
        : { done, of, rate, secondsLeft: rate > 0 ? (of - done) / rate : null, toldAt },
  }));
}
