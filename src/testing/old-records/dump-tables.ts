import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { RecordPart } from './record-file.ts';

/**
 * Reads a whole database of Espalier: how its tables are made — its own copies of the migrations, and `tables.sql` of each
 * projection in a schema of its own with views in `public` — and the rows of every table.
 */
export async function dumpTables(client: pg.Client, projectionsFolder: string): Promise<readonly RecordPart[]> {
  const migrations = await client.query<{ sql: string }>('select sql from migrations order by name');
  const projections = await client.query<{ name: string; version: number }>(
    'select name, version from projections order by name',
  );
  const parts: RecordPart[] = [
    {
      kind: 'sql',
      text: 'create table migrations (name text primary key, sql text not null, applied_at timestamptz not null default now())',
    },
    ...migrations.rows.map(({ sql }) => ({ kind: 'sql' as const, text: sql })),
  ];
  for (const { name, version } of projections.rows) {
    const schema = `${name.replaceAll('-', '_')}_v${version}`;
    const tables = await readFile(join(projectionsFolder, name, 'tables.sql'), 'utf8');
    parts.push({
      kind: 'sql',
      text: `create schema ${schema}; set search_path = ${schema}; ${tables}; set search_path = public`,
    });
    const { rows } = await client.query<{ name: string }>(
      'select tablename as name from pg_tables where schemaname = $1 order by 1',
      [schema],
    );
    for (const table of rows)
      parts.push({ kind: 'sql', text: `create view public.${table.name} as select * from ${schema}.${table.name}` });
  }
  const { rows: tables } = await client.query<{ schema: string; name: string; columns: string[] }>(`
    select table_schema as schema, table_name as name, array_agg(column_name::text order by ordinal_position) as columns
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE' and is_generated = 'NEVER'
    group by 1, 2 order by 1, 2`);
  for (const { schema, name, columns } of tables) {
    const quoted = columns.map((column) => `"${column}"`).join(', ');
    const copy = await text(client.query(copyTo(`copy (select ${quoted} from ${schema}.${name} order by 1, 2) to stdout`)));
    parts.push({ kind: 'rows', table: `${schema}.${name}`, columns, copy });
  }
  const { rows: sequences } = await client.query<{ name: string; last: number }>(
    `select format('%I.%I', schemaname, sequencename) as name, last_value as last from pg_sequences where last_value is not null`,
  );
  for (const { name, last } of sequences) parts.push({ kind: 'sql', text: `select setval('${name}', ${last})` });
  return parts;
}
