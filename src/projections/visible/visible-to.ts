import type { Db } from '../../postgres/database.ts';
import { PROJECT, type Principal } from '../../postgres/principal.ts';
import { rewritingDb } from '../../postgres/rewriting-db.ts';
import { visibleTables } from './visible-tables.ts';

/**
 * Returns the database as a principal sees it: every statement reads, under the names of the tables, the rows of its projects
 * alone. Reads need not filter by themselves, and one that is added later cannot forget to. Who sees all projects reads as
 * before. What is no query is refused: nothing is written through it.
 */
export function visibleTo(db: Db, { projects }: Pick<Principal, 'projects'>): Db {
  if (projects === 'all') return db;
  const tables = visibleTables(literal(projects));
  return rewritingDb(db, (sql) => confined(sql, tables));
}

/**
 * Puts a `with` before a statement that shadows every table that it names: `with runs as (select … from runs where …) statement`.
 * Within its own definition a name still means the table. Each is `not materialized`: the planner joins them as if the
 * condition were written in the statement. One that begins with a `with` of its own becomes a table of another, since a
 * statement has one `with`; it keeps the order of its rows, which nothing above it changes.
 */
function confined(sql: string, tables: ReadonlyMap<string, string>): string {
  if (OF_CURSOR.test(sql)) return sql; // which reads what it was declared with
  const [declared] = CURSOR.exec(sql) ?? [];
  if (declared !== undefined) return `${declared} ${confined(sql.slice(declared.length), tables)}`;
  if (!/^[\s(]*(select|with)\b/i.test(sql)) throw new Error(`who sees some projects only reads: ${sql.slice(0, 200)}`);
  const confinable = sql.replaceAll(NAMED_KEYS, '');
  if (QUALIFIED.test(confinable)) throw new Error(`a table is read past its project: ${sql.slice(0, 500)}`);
  const named = new Set(confinable.match(/[a-z_]+/g));
  const shadows = [...tables].flatMap(([name, rows]) => (named.has(name) ? [`${name} as not materialized (${rows})`] : []));
  if (shadows.length === 0) return sql;
  const shadowing = `with ${shadows.join(', ')}`;
  return /^\s*with\b/i.test(sql) ? `${shadowing} select * from (${sql}) confined` : `${shadowing} ${sql}`;
}

const CURSOR = /^\s*declare [a-z_ ]+ cursor for\b/; // none `with hold`, which would outlive its transaction
const OF_CURSOR = /^\s*(fetch forward \d+ from|close) [a-z_]+\s*$/;
/**
 * Keys are read by id or stream only, which a confined row names, and belong to no project: a history segment that two projects
 * show is sealed by one key. The table is in `public`: read models as of a moment have none.
 */
const NAMED_KEYS =
  /\bpublic\.stream_keys( k)? where (k\.)?(key_id = any\(\$\d+::uuid\[\]\)|stream = (any\(\$\d+::uuid\[\]\)|r\.tree_id))/g;
/** A table behind the name of its schema would not be shadowed. */
const QUALIFIED = /\b(public|[a-z_]+_v\d+(_b\d+)?)"?\s*\.\s*"?[a-z_]+/;

/** An array of Postgres as a literal: a name of a project holds no quote. */
function literal(projects: readonly string[]): string {
  for (const project of projects)
    if (!PROJECT.test(project)) throw new RangeError(`${JSON.stringify(project)} is no name of a project`);
  return `'{${projects.join(',')}}'::text[]`;
}
