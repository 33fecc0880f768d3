import type pg from 'pg';

/** What a start needs to know of a database before it writes to it. */
export interface DatabaseDescription {
  readonly name: string;
  readonly account: string;
  /** As 180004. */
  readonly versionNumber: number;
  readonly version: string;
  readonly mayCreateSchemas: boolean;
  readonly mayCreateTables: boolean;
  /** The log whose read models it holds; null where it holds none. */
  readonly logIdentity: string | null;
}

export async function describeDatabase(pool: pg.Pool): Promise<DatabaseDescription> {
  const { rows } = await pool.query<Omit<DatabaseDescription, 'logIdentity'> & { isUsed: boolean }>(
    `select current_database() as name, current_user as account,
       current_setting('server_version_num')::int as "versionNumber", current_setting('server_version') as version,
       has_database_privilege(current_database(), 'create') as "mayCreateSchemas",
       has_schema_privilege('public', 'create') as "mayCreateTables",
       to_regclass('public.log_identity') is not null as "isUsed"`,
  );
  const [described] = rows;
  if (!described) throw new Error('the database does not describe itself');
  const { isUsed, ...rest } = described;
  if (!isUsed) return { ...rest, logIdentity: null };
  const held = await pool.query<{ identity: string }>('select identity from public.log_identity');
  return { ...rest, logIdentity: held.rows[0]?.identity ?? null };
}
