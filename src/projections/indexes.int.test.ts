import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { type KyselyPlugin, RawNode, sql } from 'kysely';
import { camelCase } from '../postgres/camel-case.ts';
import type { Db } from '../postgres/database.ts';
import { cursorOf } from '../postgres/keyset-cursor.ts';
import { INDEX_QUESTIONS } from '../testing/index-questions.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { readTrajectories, TRAJECTORY_ORDERINGS } from './rewards/read-trajectories.ts';
import { ROLLOUT_ORDERINGS, readRollouts } from './step-tree/read-rollouts.ts';

const database = useTestDatabase({ emptied: 'never' });

interface Index {
  readonly schema: string;
  readonly table: string;
  readonly name: string;
  /** Its first columns or expressions, as Postgres writes them. */
  readonly first: string;
  /** It begins as a constraint of the table does, or as another index, with all of its columns. */
  readonly within: string | null;
}

async function readIndexes(): Promise<readonly Index[]> {
  const { rows } = await database.pool.query<Index>(
    `with each as (
       select n.nspname::text as schema, t.relname::text as "table", c.relname::text as name, i.indexrelid, i.indrelid,
         i.indkey::int2[] as keys, i.indoption::int2[] as orders, i.indnkeyatts as count, i.indisunique as is_unique,
         i.indpred is null and i.indexprs is null and m.amname = 'btree' and i.indnatts = i.indnkeyatts as plain,
         pg_get_indexdef(i.indexrelid, 1, true) as first,
         exists (select from pg_constraint k where k.conindid = i.indexrelid) as of_constraint
       from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam
       join pg_class t on t.oid = i.indrelid join pg_namespace n on n.oid = t.relnamespace where n.nspname ~ '_v[0-9]+$')
     select e.schema, e."table", e.name, e.first, (
       select o.name from each o
       where o.indrelid = e.indrelid and o.indexrelid <> e.indexrelid and e.plain and not e.is_unique and o.plain
         and o.keys[0:e.count - 1] = e.keys[0:e.count - 1] and o.orders[0:e.count - 1] = e.orders[0:e.count - 1] limit 1) as within
     from each e where not e.of_constraint order by e.name`,
  );
  return rows;
}

test('every index of a read model is in the plan of a question that the product asks of its table', async () => {
  const indexes = await readIndexes();
  expect(indexes.map(({ name }) => name)).toEqual(Object.keys(INDEX_QUESTIONS).sort());
  const unused: string[] = [];
  const client = await database.pool.connect();
  try {
    for (const { schema, table, name } of indexes) {
      const [, question] = INDEX_QUESTIONS[name] ?? ['', ''];
      await client.query('begin');
      await client.query(`set local enable_seqscan = off; set local search_path = ${schema}`);
      const others = indexes.filter((other) => other.table === table && other.name !== name);
      for (const other of others) await client.query(`drop index ${other.name}`); // of empty tables the planner takes any
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain select 1 from ${table} ${question}`);
      if (!rows.some((line) => line['QUERY PLAN'].includes(` ${name} `) || line['QUERY PLAN'].endsWith(` ${name}`)))
        unused.push(`${name}: ${rows.map((line) => line['QUERY PLAN']).join(' ')}`);
      await client.query('rollback');
    }
  } finally {
    client.release();
  }
  expect(unused).toEqual([]);
});

test('the file that is named for the question of an index speaks of its table and of its first column', async () => {
  const strangers: string[] = [];
  for (const { table, name, first } of await readIndexes()) {
    const [file] = INDEX_QUESTIONS[name] ?? [''];
    const source = readFileSync(new URL(`./${file}.ts`, import.meta.url), 'utf8');
    const column = /^\w+$/.test(first) ? first : '';
    for (const word of [table, column])
      if (!source.includes(word) && !source.includes(camelCase(word))) strangers.push(`${name}: ${file} does not name ${word}`);
  }
  expect(strangers).toEqual([]);
});

test('no index is the beginning of another one, or of a key, of its table', async () => {
  const repeated = async () =>
    (await readIndexes()).filter(({ within }) => within !== null).map(({ name, within }) => `${name} in ${within}`);
  expect(await repeated()).toEqual([]);
  await database.pool.query('create index planted on step_tree_v3.divergences (tree_id)');
  expect(await repeated()).toEqual(['planted in divergences_pkey']);
  await database.pool.query('drop index step_tree_v3.planted');
});

/** Returns the plan of what a reader sends, of empty tables and so of what the planner can do at all. */
async function planOf(read: (db: Db) => Promise<unknown>): Promise<readonly string[]> {
  const plan: string[] = [];
  const explain: KyselyPlugin = {
    // the whole, which is raw, and not the queries in it
    transformQuery: ({ node }) => (RawNode.is(node) ? RawNode.create(['explain (costs off) ', ''], [node]) : node),
    async transformResult({ result }) {
      plan.push(...result.rows.flatMap((row) => Object.values(row).map(String)));
      return { ...result, rows: [] };
    },
  };
  await database.db.transaction().execute(async (trx) => {
    for (const way of ['seqscan', 'bitmapscan', 'sort', 'hashjoin', 'mergejoin'])
      await sql`set local ${sql.raw(`enable_${way}`)} = off`.execute(trx);
    await read(trx.withPlugin(explain));
  });
  return plan;
}

const ID = '00000000-0000-4000-8000-000000000000';
const LISTS = {
  finished: { column: 'finished_at', value: '2026-01-31T09:30:00.123456Z', read: readRollouts, orderings: ROLLOUT_ORDERINGS },
  returns: { column: 'value', value: '0.5', read: readTrajectories, orderings: TRAJECTORY_ORDERINGS },
} as const;

test.each([
  ['finished', 'FINISHED_ASC', 'after', 'a value', ['>', 'IS NULL']],
  ['finished', 'FINISHED_ASC', 'after', 'none', ['IS NULL >']],
  ['finished', 'FINISHED_ASC', 'before', 'a value', ['<']],
  ['finished', 'FINISHED_ASC', 'before', 'none', ['IS NULL <', 'IS NOT NULL']],
  ['finished', 'FINISHED_DESC', 'after', 'a value', ['<']],
  ['finished', 'FINISHED_DESC', 'after', 'none', ['IS NULL <', 'IS NOT NULL']],
  ['finished', 'FINISHED_DESC', 'before', 'a value', ['>', 'IS NULL']],
  ['returns', 'RETURN_ASC', 'after', 'a value', ['>', 'IS NULL']],
  ['returns', 'RETURN_ASC', 'after', 'none', ['IS NULL >']],
  ['returns', 'RETURN_ASC', 'before', 'none', ['IS NULL <', 'IS NOT NULL']],
  ['returns', 'RETURN_DESC', 'after', 'a value', ['<', 'IS NULL']],
  ['returns', 'RETURN_DESC', 'after', 'none', ['IS NULL <']],
  ['returns', 'RETURN_DESC', 'before', 'none', ['IS NULL >', 'IS NOT NULL']],
] as const)('a page of %s in %s %s a row with %s is read by conditions of its index', async (list, order, side, key, ranges) => {
  const { column, value, read, orderings } = LISTS[list];
  const ordering = Object.values(orderings).find(({ name }) => name.endsWith(`/${order}`)) ?? orderings.FINISHED_ASC;
  const cursor = cursorOf(ordering, [key === 'none' ? null : value, ID, ID]);
  const towards = side === 'after' ? 'forwards' : 'backwards';
  const page = { limit: 50, towards, after: null, before: null, [side]: cursor } as const;
  const plan = await planOf((db) => read(db, [{ runId: ID }], ordering, page));
  const conditions = plan.filter((line) => /(Cond|Filter): /.test(line) && line.includes(column));
  const found = conditions.map((line) => `${line.match(/Index Cond|Filter|IS (NOT )?NULL|[<>](?= ROW)/g)?.join(' ')}`);
  expect({ plan, found }).toEqual({ plan, found: ranges.map((range) => `Index Cond ${range}`) });
  expect(plan.filter((line) => line.includes('Sort'))).toEqual([]);
});
