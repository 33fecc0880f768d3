import type pg from 'pg';

/**
 * Says that a server, or an account, takes fewer connections than a process may open at once; null where there are enough. Clients are
 * the sessions with a database and an account: an account without privileges sees no `backend_type` of others.
 */
export async function fewConnections(pool: pg.Pool, wanted: number): Promise<string | null> {
  const { rows } = await pool.query<{ free: number; limit: number; account: string }>(
    `select current_user as account, least(s.taken, a.taken) as "limit", least(s.taken - s.used, a.taken - a.used)::int as free
     from (select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as taken,
             (select count(*) from pg_stat_activity where datid is not null and usesysid is not null) as used) s,
       (select case when rolconnlimit < 0 then 2147483647 else rolconnlimit end as taken,
             (select count(*) from pg_stat_activity where usename = current_user) as used
        from pg_roles where rolname = current_user) a`,
  );
  const [{ free = wanted, limit = 0, account = '' } = {}] = rows;
  if (free >= wanted) return null;
  return `Postgres has ${free} of ${limit} connections left for ${account}, and a process may open ${wanted}; raise max_connections or the limit of the account, put a pooler in front, or lower DATABASE_CONNECTIONS`;
}
