import { migrate } from '../../postgres/migrate.ts';
import { openPool } from '../../postgres/pool.ts';
import { installProjections } from '../../projections/install.ts';
import { createDatabase, TEMPLATE, type TestDatabase } from '../database.ts';

/**
 * Makes the database that every test database is a copy of: migrated, with the tables of the projections. Passes to the workers
 * its name.
 */
export async function createTemplateDatabase(server: string): Promise<TestDatabase> {
  const database = await createDatabase(server, 'espalier_template', 'template0');
  const pool = openPool(database.url, { max: 2 });
  try {
    await migrate(pool);
    await installProjections(pool);
  } finally {
    await pool.end(); // a template with a connection cannot be copied
  }
  process.env[TEMPLATE] = database.name;
  return database;
}
