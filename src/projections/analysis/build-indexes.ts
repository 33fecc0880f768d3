import { readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import type { Database, Db } from '../../postgres/database.ts';
import { tablesFileOf } from '../install.ts';
import { readLiveVersions } from '../live-versions.ts';
import type { Projection } from '../projection.ts';
import { schemaNameOf } from '../projection.ts';

/** An index that the tables of a live projection are to have. */
export interface WantedIndex {
  readonly schema: string;
  readonly table: string;
  readonly name: string;
  /** What follows the table: `(a, b) include (c)`, `using gin (…)`. */
  readonly columns: string;
}

export interface IndexState extends WantedIndex {
  /** `broken`: a build of it was interrupted; it costs writes and is read by nobody. */
  readonly state: 'there' | 'missing' | 'broken';
}

/**
 * Built only on demand: each of the others adds 1 to 4 µs of CPU to a step that is copied (12.6 µs without them),
 * this one 5.4 µs (40,500 steps, the median of chunks of 750 in turn). The beginning of an action is enough to find it, and a
 * whole one may be longer than a key.
 */
const ACTIONS = { projection: 'step-tree', table: 'steps', name: 'steps_action', columns: '(left(action, 200))' } as const;

/**
 * Reads which of the indexes that `tables.sql` declares the live tables of these projections have. @param more that of the
 * actions, which is built on demand, too.
 */
export async function readIndexes(
  db: Db,
  projections: readonly Projection[],
  more: 'actions' | 'none' = 'none',
): Promise<readonly IndexState[]> {
  const live = await readLiveVersions(db);
  const wanted: WantedIndex[] = [];
  for (const projection of projections) {
    const schema = schemaNameOf({ name: projection.name, version: live.get(projection.name) ?? projection.version });
    const tables = await readFile(tablesFileOf(projection.name), 'utf8');
    for (const [, name = '', table = '', columns = ''] of tables.matchAll(/^create index (\w+) on (\w+) ([^;]+);/gm))
      wanted.push({ schema, table, name, columns: columns.replace(/\s+/g, ' ') });
    const { projection: of, ...actions } = ACTIONS;
    if (more === 'actions' && projection.name === of) wanted.push({ schema, ...actions });
  }
  const { rows } = await sql<{ schema: string; name: string; valid: boolean }>`
    select n.nspname as schema, c.relname as name, i.indisvalid as valid
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any(${[...new Set(wanted.map(({ schema }) => schema))]}::text[])`.execute(db);
  const there = new Map(rows.map(({ schema, name, valid }) => [`${schema}.${name}`, valid]));
  return wanted.map((index) => {
    const valid = there.get(`${index.schema}.${index.name}`);
    return { ...index, state: valid === undefined ? 'missing' : valid ? 'there' : 'broken' };
  });
}

/**
 * Builds an index while others write (`create index concurrently`): it reads the table twice and waits for the transactions that
 * are open. What an interrupted build left is dropped first.
 */
export async function buildIndex(
  { pool }: Pick<Database, 'pool'>,
  { schema, table, name, columns, state }: IndexState,
): Promise<void> {
  // one statement each, outside of a transaction: that is what `concurrently` asks for
  if (state === 'broken') await pool.query(`drop index concurrently if exists ${schema}.${name}`);
  if (state !== 'there') await pool.query(`create index concurrently if not exists ${name} on ${schema}.${table} ${columns}`);
}

/** Drops the index of actions. Returns whether there was one. */
export async function dropActionsIndex({ pool, db }: Pick<Database, 'pool' | 'db'>): Promise<boolean> {
  const schema = await stepTreeSchema(db);
  const { rowCount } = await pool.query('select from pg_indexes where schemaname = $1 and indexname = $2', [
    schema,
    ACTIONS.name,
  ]);
  await pool.query(`drop index concurrently if exists ${schema}.${ACTIONS.name}`);
  return (rowCount ?? 0) > 0;
}

/** An action that would be looked for in too many steps. The message says what to do. */
export class ActionsNotIndexed extends Error {
  override readonly name = 'ActionsNotIndexed';
}

const WITHOUT_INDEX = 200_000; // steps of which all actions are compared where no index helps: about half a second

/** Refuses to look for an action in all steps where these are many and their actions not indexed. @throws ActionsNotIndexed. */
export async function checkActionsIndexed(db: Db): Promise<void> {
  const { rows } = await sql<{ indexed: boolean; many: boolean }>`
    select exists (select from pg_index i where i.indexrelid = to_regclass(${`${await stepTreeSchema(db)}.${ACTIONS.name}`}) and i.indisvalid) as indexed,
           (select count(*) > ${WITHOUT_INDEX} from (select from steps limit ${WITHOUT_INDEX + 1}) s) as many`.execute(db);
  if (rows[0]?.indexed !== false || !rows[0].many) return;
  throw new ActionsNotIndexed(
    `the actions of more than ${WITHOUT_INDEX} steps are not indexed; build it with \`espalier index --actions\`, or name a run, a tree, a task or a rollout`,
  );
}

async function stepTreeSchema(db: Db): Promise<string> {
  return schemaNameOf({ name: ACTIONS.projection, version: (await readLiveVersions(db)).get(ACTIONS.projection) ?? 1 });
}
