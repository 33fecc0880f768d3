import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { type Database, openDatabase } from '../postgres/database.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { emptyReadModels } from './read-models.ts';

/**
 * Opens a database before the tests of a file and removes it after them. What is returned can be named at once and used in tests
 * and hooks. @param emptied whether every test begins with empty read models.
 */
export function useTestDatabase({ emptied }: { readonly emptied: 'before-each' | 'never' }): Database {
  let made: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    made = await createTestDatabase();
    database = await openDatabase(made.url);
  });
  afterAll(async () => {
    await database.close();
    await made.drop();
  });
  if (emptied === 'before-each') beforeEach(() => emptyReadModels(database.db));
  return {
    get db() {
      return database.db;
    },
    get pool() {
      return database.pool;
    },
    close: () => database.close(),
  };
}
