import { Kysely } from 'kysely';
import { CamelCaseDialect } from '../../src/postgres/camel-case-dialect.ts';
import type { Database } from '../../src/postgres/database.ts';
import type { Tables } from '../../src/postgres/tables.ts';
import type { Question } from './answer-questions.ts';

/** How a question was planned and carried out. */
export interface Explained {
  /** Tables of more than so many rows that were read from end to end. */
  readonly scanned: readonly string[];
  readonly indexes: readonly string[];
  readonly text: string;
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
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
    const { rows } = await pool.query<{ 'QUERY PLAN': readonly [{ readonly Plan: Plan }] }>(
      `explain (analyze, format json) ${sql}`,
      [...parameters],
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    if (!plan) throw new Error(`no plan for ${sql}`);
    for (const node of nodesOf(plan)) {
      if (node['Index Name'] !== undefined) indexes.add(node['Index Name']);
      const read = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
      if (node['Node Type'] === 'Seq Scan' && read >= large) scanned.add(node['Relation Name'] ?? '?');
    }
    const { rows: lines } = await pool.query<{ 'QUERY PLAN': string }>(`explain (analyze, buffers) ${sql}`, [...parameters]);
    texts.push(lines.map((line) => line['QUERY PLAN']).join('\n'));
  }
  return { scanned: [...scanned].sort(), indexes: [...indexes].sort(), text: texts.join('\n\n') };
}

function nodesOf(plan: Plan): readonly Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}
