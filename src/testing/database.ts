import { randomBytes } from 'node:crypto';
import { connect } from '../postgres/pool.ts';

export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  /** Removes the database, closing what is still connected to it. */
  drop(): Promise<void>;
}

/** The environment variable by which the jest set-up passes the name of the template to the test workers. */
export const TEMPLATE = 'ESPALIER_TEST_TEMPLATE';

/**
 * Makes a fresh database for one test file: a copy of the run's template, migrated, with the tables of the projections, empty.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { DATABASE_URL: server, [TEMPLATE]: template } = process.env;
  if (!server || !template)
    throw new Error('no template database: name the file .int.test.ts or .e2e.test.ts, and run it by `npm test`');
  return createDatabase(server, 'espalier_test', template);
}

/** Makes a database under a name that nobody else has: runs may share a server. */
export async function createDatabase(server: string, prefix: string, template: string): Promise<TestDatabase> {
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  await administer(server, `create database ${name} template ${template} strategy file_copy`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { name, url: url.toString(), drop: () => administer(server, `drop database if exists ${name} with (force)`) };
}

async function administer(server: string, statement: string): Promise<void> {
  const client = await connect(server, 'espalier tests');
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
