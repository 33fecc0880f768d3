import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { sql } from 'kysely';
import type { Offsets } from '../../log/event-log.ts';
import { type Database, type Db, openDatabase } from '../../postgres/database.ts';
import { createTestDatabase, type TestDatabase } from '../../testing/database.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendTo, projectSlice, type TestLog, testLog } from '../../testing/given-events.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { keepSnapshots, type Snapshots } from './snapshots.ts';

/** A signal that never comes. */
export const NEVER = new AbortController().signal;

/** A scope of no entity, to add some to. */
export const ENTITIES = { runs: [], trees: [], steps: [], rollouts: [] };

export interface AsOf {
  readonly live: Database;
  /** Another database of the same tables, to fold something into that is compared. */
  readonly scratch: Database;
  readonly url: string;
  /** Of the live read models; each test has its own: two records may have the same positions. */
  readonly snapshots: Snapshots;
}

/** Opens two databases before the tests of a file, empty for each of them, and removes them afterwards. */
export function useAsOf(): AsOf {
  const databases: { readonly test: TestDatabase; readonly database: Database }[] = [];
  const opened = (i: number) => {
    const found = databases[i];
    if (!found) throw new Error('the databases are opened before the tests');
    return found;
  };
  let snapshots: Snapshots;
  beforeAll(async () => {
    for (let i = 0; i < 2; i++) {
      const test = await createTestDatabase();
      databases.push({ test, database: await openDatabase(test.url) });
    }
  });
  afterAll(async () => {
    for (const { test, database } of databases) {
      await database.close();
      await test.drop();
    }
  });
  beforeEach(async () => {
    for (const { database } of databases) await emptyReadModels(database.db);
    snapshots = keepSnapshots(opened(0).database, opened(0).test.url, { records: 10_000, kept: 2 });
  });
  afterEach(() => snapshots.close());
  return {
    get live() {
      return opened(0).database;
    },
    get scratch() {
      return opened(1).database;
    },
    get url() {
      return opened(0).test.url;
    },
    get snapshots() {
      return snapshots;
    },
  };
}

/** Projects what lies below a position, and no more. */
export async function projectUpTo(db: Db, log: TestLog, position: Offsets): Promise<void> {
  for (const [topic, partitions] of position) await projectSlice(db, log, topic, 0, partitions.get(0) ?? 0);
}

export function ends(log: TestLog): Offsets {
  return new Map([...log.topics].map(([topic, records]) => [topic, new Map([[0, records.length]])]));
}

/**
 * The rows of each table of read models as readers see them, as sorted text, in the schema that the connection reads, and the
 * quarantine with them.
 */
export async function tablesOf(db: Db, names: readonly string[]): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {};
  for (const name of [...names, 'quarantine']) {
    const { rows: found } = await sql<{
      shown: string;
    }>`select coalesce(to_regclass(${`${name}_shown`})::text, ${name}) as shown`.execute(db);
    const { rows } = await sql<{ row: string }>`
      select (to_jsonb(t) - '{quarantined_at}'::text[])::text as row from ${sql.table(found[0]?.shown ?? name)} t order by 1`.execute(
      db,
    );
    tables[name] = rows.map(({ row }) => row);
  }
  return tables;
}

/** Records a run with trees of these names, each with one walk, and projects them. */
export async function givenTrees(db: Db, ...names: readonly string[]) {
  const recorded = new EventBuilder('trees');
  const run = recorded.run();
  const trees = names.map((name) => {
    const tree = recorded.tree(run, name);
    return { ...tree, ...recorded.walk(tree, 0, 3, 1) };
  });
  const log = testLog();
  appendTo(log, recorded.events);
  await projectUpTo(db, log, ends(log));
  return { run, trees, position: ends(log) };
}
