import { Kysely } from 'kysely';
import { CamelCaseDialect } from '../../src/postgres/camel-case-dialect.ts';
import type { Database } from '../../src/postgres/database.ts';
import type { Tables } from '../../src/postgres/tables.ts';
import type { Question } from './answer-questions.ts';

/** How a question was planned and carried out. */
export interface Explained {
  /** Large tables of which so many rows or more were read by sequential scans. */
  readonly scanned: readonly string[];
  readonly indexes: readonly string[];
}

/** Explains every statement of a question, as it was sent. @param large rows from which a table counts as large. */
export async function explainQuestion({ pool }: Pick<Database, 'pool'>, question: Question, large: number): Promise<Explained> {
  const statements: { readonly sql: string; readonly parameters: readonly unknown[] }[] = [];
  const db = new Kysely<Tables>({
    dialect: new CamelCaseDialect(pool),
    log: ({ query: { sql, parameters } }) => void statements.push({ sql, parameters }),
  });
  await question.ask(db, 1);
  const [scanned, indexes] = [new Set<string>(), new Set<string>()];
  for (const { sql, parameters } of statements) {
    const { rows } = await pool.query<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(
      `explain (analyze, format json) ${sql}`,
      [...parameters],
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    if (!plan) throw new Error(`no plan for ${sql}`);
    for (const { 'Index Name': index } of nodesOf(plan)) if (index !== undefined) indexes.add(index);
    for (const [table, read] of sequentialReads(plan)) if (read >= large && !(await isSmall(table))) scanned.add(table);
  }
  return { scanned: [...scanned].sort(), indexes: [...indexes].sort() };

  /** A table of few rows is rightly read from end to end, however often: no index is faster. */
  async function isSmall(table: string): Promise<boolean> {
    const { rows } = await pool.query<{ rows: number }>(
      `select max(c.reltuples)::float8 as rows from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relname = $1 and c.relkind = 'r' and n.nspname !~ '^pg_'`,
      [table],
    );
    const known = rows[0]?.rows ?? -1; // -1: never analyzed
    return known >= 0 && known < large;
  }
}

/** A node of what `explain (analyze, format json)` prints. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  /** Of one loop, on average: each parallel worker is a loop, and so is each row that a nested loop asks by. */
  readonly 'Actual Rows'?: number;
  /** Of one loop, too. */
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Actual Loops'?: number;
  readonly Plans?: readonly PlanNode[];
}

function nodesOf(plan: PlanNode): readonly PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Returns how many rows of each table were read by sequential scans, in all loops and workers together. */
export function sequentialReads(plan: PlanNode): ReadonlyMap<string, number> {
  const read = new Map<string, number>();
  for (const node of nodesOf(plan)) {
    if (node['Node Type'] !== 'Seq Scan') continue;
    const table = node['Relation Name'] ?? '?';
    const rows = ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 1);
    read.set(table, (read.get(table) ?? 0) + rows);
  }
  return read;
}
