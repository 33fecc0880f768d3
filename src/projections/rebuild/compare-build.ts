import { sql } from 'kysely';
import type { Database, Trx } from '../../postgres/database.ts';
import { readLiveVersions } from '../live-versions.ts';
import { schemaNameOf } from '../projection.ts';
import { atEqualCursors } from './at-equal-cursors.ts';
import type { Build } from './build.ts';
import { type FieldDifference, findDifferences, isSame, sumTables, type TableSums } from './compare-tables.ts';

export interface BuildComparison {
  readonly projection: string;
  readonly tables: readonly TableSums[];
  /** The first rows that differ in each table that does. */
  readonly differences: readonly FieldDifference[];
}

const ROWS_SHOWN = 5; // per table

/**
 * Compares the tables of a build with the live ones, and what each quarantined, in one snapshot in which both hold the fold of
 * the same events. The live version is held only until the snapshot is taken; the sums are computed while everything goes on.
 */
export async function compareBuild(
  database: Database,
  build: Build,
  waiting: { readonly limitMs: number; readonly signal: AbortSignal },
): Promise<BuildComparison> {
  const snapshot = await atEqualCursors(database, build, waiting, async () => {
    const trx = await database.db.startTransaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute();
    await sql`select 1`.execute(trx); // the first statement takes the snapshot
    return trx;
  });
  try {
    const live = (await readLiveVersions(snapshot)).get(build.projection.name) ?? build.projection.version;
    const schemas = { live: schemaNameOf({ name: build.projection.name, version: live }), anew: build.schema };
    const tables = await sumTables(snapshot, schemas.live, schemas.anew);
    const differences: FieldDifference[] = [];
    for (const { table } of tables.filter((sums) => !isSame(sums)))
      for (const each of await findDifferences(snapshot, { ...schemas, table, limit: ROWS_SHOWN })) differences.push(each);
    const quarantined = await compareQuarantine(snapshot, build);
    return { projection: build.projection.name, tables, differences: [...differences, ...quarantined] };
  } finally {
    await snapshot.rollback().execute();
  }
}

/** Returns whether both hold the same. The sums decide: a row that differs may have no key by which it could be named. */
export function agrees({ tables, differences }: BuildComparison): boolean {
  return tables.every(isSame) && differences.length === 0;
}

/** What one version set aside and the other did not, or for another reason. */
async function compareQuarantine(trx: Trx, { projection, shadow }: Build): Promise<FieldDifference[]> {
  const { rows } = await sql<{ topic: string; partition: number; offset: number; live: string | null; anew: string | null }>`
    select topic, partition, "offset", l.code as live, a.code as anew
    from (select * from quarantine where projection = ${projection.name}) l
    full join (select * from quarantine where projection = ${shadow.name}) a using (topic, partition, "offset")
    where (l.code, l.field, l.requeued_offset) is distinct from (a.code, a.field, a.requeued_offset)
    order by topic, partition, "offset" limit ${ROWS_SHOWN}`.execute(trx);
  return rows.map(({ live, anew, ...key }) => ({ table: 'quarantine', key, field: 'code', live, anew }));
}
