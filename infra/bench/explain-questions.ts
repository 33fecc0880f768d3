import { Kysely } from 'kysely';
import { CamelCaseDialect } from '../../src/postgres/camel-case-dialect.ts';
import type { Database } from '../../src/postgres/database.ts';
import type { Tables } from '../../src/postgres/tables.ts';
import type { Question } from './answer-questions.ts';
import { nodesOf, type PlanNode, sequentialReads } from './sequential-reads.ts';

/** How a question was planned and carried out. */
export interface Explained {
  /** Large tables of which so many rows or more were read by sequential scans. */
  readonly scanned: readonly string[];
  readonly indexes: readonly string[];
  readonly text: string;
}

/** Explains every statement of a question, as it was sent. @param large rows from which a table counts as large. */
export async function explainQuestion({ pool }: Pick<Database, 'pool'>, question: Question, large: number): Promise<Explained> {
  const statements: { readonly sql: string; readonly parameters: readonly unknown[] }[] = [];
  const db = new Kysely<Tables>({
    dialect: new CamelCaseDialect(pool),
    log: ({ query: { sql, parameters } }) => void statements.push({ sql, parameters }),
  });
  await question.ask(db, 1);
  const [scanned, indexes, texts] = [new Set<string>(), new Set<string>(), [] as string[]];
  for (const { sql, parameters } of statements) {
    const { rows } = await pool.query<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(
      `explain (analyze, format json) ${sql}`,
      [...parameters],
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    if (!plan) throw new Error(`no plan for ${sql}`);
    for (const { 'Index Name': index } of nodesOf(plan)) if (index !== undefined) indexes.add(index);
    for (const [table, read] of sequentialReads(plan)) if (read >= large && !(await isSmall(table))) scanned.add(table);
    const { rows: lines } = await pool.query<{ 'QUERY PLAN': string }>(`explain (analyze, buffers) ${sql}`, [...parameters]);
    texts.push(lines.map((line) => line['QUERY PLAN']).join('\n'));
  }
  return { scanned: [...scanned].sort(), indexes: [...indexes].sort(), text: texts.join('\n\n') };

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
