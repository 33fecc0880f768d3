import { sql } from 'kysely';
import type { Database, Db } from '../../postgres/database.ts';
import { readLiveVersions } from '../live-versions.ts';
import { schemaNameOf } from '../projection.ts';

/** A search that would read too many texts. The message says what to do. */
export class TextNotIndexed extends Error {
  override readonly name = 'TextNotIndexed';
}

/** Rows of which all texts are read where no index helps: about a second on one core. */
const WITHOUT_INDEX = 50_000;
const STEP_TREE = 'step-tree';
const GOALS = 'trees_text';
const STEPS = /^steps_text_(\d+)$/;

/** Names the index that holds the steps that were taken before this time. */
export function textIndexOf(mark: Date): string {
  return `steps_text_${Math.floor(mark.getTime() / 1_000)}`;
}

/**
 * Reads up to when the texts of steps are indexed; null where they are not, and in a snapshot. To index a step as it is folded
 * costs several times what it costs to write it: the index holds the steps that were taken before it was built, and those since
 * are looked through (`stepsMatching`).
 */
export async function readTextMark(db: Db): Promise<Date | null> {
  const [latest] = (await readTextIndexes(db))
    .flatMap(({ name }) => STEPS.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => b - a);
  return latest === undefined ? null : new Date(latest * 1_000);
}

/** Refuses a search over all steps where too many are not indexed. @throws TextNotIndexed. */
export async function checkStepsIndexed(db: Db, mark: Date | null): Promise<void> {
  const { rows } = await sql<{ found: number }>`select count(*) as found from (
    select from steps where ${mark === null ? sql`true` : sql`occurred_at >= ${mark}`} limit ${WITHOUT_INDEX + 1}) s`.execute(db);
  if ((rows[0]?.found ?? 0) <= WITHOUT_INDEX) return;
  const since = mark === null ? 'are not indexed' : `were taken after the index of their texts was built (${mark.toISOString()})`;
  throw new TextNotIndexed(
    `more than ${WITHOUT_INDEX} steps ${since}; build it with \`espalier index --text\`, or name a run, a tree, a task or a rollout`,
  );
}

/** Refuses a search over the goals of all trees where these are many and not indexed. @throws TextNotIndexed. */
export async function checkGoalsIndexed(db: Db): Promise<void> {
  if ((await readTextIndexes(db)).some(({ name }) => name === GOALS)) return;
  const beyond = await db.selectFrom('trees').select('treeId').offset(WITHOUT_INDEX).limit(1).executeTakeFirst();
  if (beyond === undefined) return;
  throw new TextNotIndexed(
    `the goals of more than ${WITHOUT_INDEX} trees are not indexed; build the index with \`espalier index --text\`, or name a run`,
  );
}

/** The indexes of full text that can be read; none in a snapshot, whose tables are not the live ones. */
async function readTextIndexes(db: Db): Promise<readonly { readonly name: string }[]> {
  const schema = await liveSchema(db);
  const { rows } = await sql<{ name: string }>`
    select x.relname as name from pg_index i join pg_class x on x.oid = i.indexrelid join pg_namespace n on n.oid = x.relnamespace
    where n.nspname = ${schema} and i.indisvalid and (x.relname = ${GOALS} or x.relname like 'steps_text_%')
      and exists (select from pg_class v where v.oid = to_regclass('steps') and v.relkind = 'v')`.execute(db);
  return rows;
}

async function liveSchema(db: Db): Promise<string> {
  return schemaNameOf({ name: STEP_TREE, version: (await readLiveVersions(db)).get(STEP_TREE) ?? 1 });
}

/**
 * Builds the indexes of full text while others write, of what is there now, and drops those that were built before. Returns the
 * name of that of the steps. The expressions are those that `text-query.ts` asks by.
 */
export async function buildTextIndexes({ pool, db }: Pick<Database, 'pool' | 'db'>): Promise<string> {
  const schema = await liveSchema(db);
  const { rows } = await pool.query<{ now: number }>("select extract(epoch from date_trunc('second', now()))::bigint as now");
  const now = rows[0]?.now ?? 0;
  const name = textIndexOf(new Date(now * 1_000));
  await buildOn(
    pool,
    `create index concurrently if not exists ${name} on ${schema}.steps
    using gin (to_tsvector('english'::regconfig, observation || ' ' || action || ' ' || thought))
    where occurred_at < '${new Date(now * 1_000).toISOString()}'::timestamptz`,
  );
  await buildOn(
    pool,
    `create index concurrently if not exists ${GOALS} on ${schema}.trees using gin (to_tsvector('english'::regconfig, goal))`,
  );
  await pool.query(`analyze ${schema}.steps, ${schema}.trees`); // an index of an expression has statistics of its own
  await dropTextIndexes({ pool, db }, [name, GOALS]);
  return name;
}

/** Builds an index with memory and helpers of its own: in the default of 64 MB, that of a million steps takes minutes more. */
async function buildOn(pool: Database['pool'], statement: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("set maintenance_work_mem = '512MB'");
    await client.query(`set max_parallel_maintenance_workers = ${HELPERS}`);
    await client.query(statement);
  } finally {
    await client.query('reset maintenance_work_mem; reset max_parallel_maintenance_workers').catch(() => undefined);
    client.release();
  }
}

const HELPERS = 2; // next to the process that builds: more only wait where there are two cores

/** Drops the indexes of full text, also those whose build was interrupted. Returns their names. */
export async function dropTextIndexes(
  { pool, db }: Pick<Database, 'pool' | 'db'>,
  but: readonly string[] = [],
): Promise<readonly string[]> {
  const schema = await liveSchema(db);
  const { rows } = await pool.query<{ indexname: string }>(
    "select indexname from pg_indexes where schemaname = $1 and (indexname = $2 or indexname like 'steps_text_%')",
    [schema, GOALS],
  );
  const old = rows.map(({ indexname }) => indexname).filter((name) => !but.includes(name));
  for (const name of old) await pool.query(`drop index concurrently if exists ${schema}.${name}`);
  return old;
}
