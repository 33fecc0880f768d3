import {
  type CompiledQuery,
  type ConnectionProvider,
  type DatabaseConnection,
  DefaultQueryExecutor,
  Kysely,
  PostgresDialect,
  PostgresDriver,
} from 'kysely';
import { SnakeCaseCompiler } from './camel-case-dialect.ts';
import type { Db } from './database.ts';
import type { Tables } from './tables.ts';

/**
 * Returns the same database, over the same connections, with the text of every statement rewritten right before it is sent:
 * behind the query builder, raw SQL and whatever nests them.
 */
export function rewritingDb(db: Db, rewrite: (sql: string) => string): Db {
  const inner = db.getExecutor();
  const connections: ConnectionProvider = {
    provideConnection: (consumer) => inner.provideConnection((connection) => consumer(rewritten(connection, rewrite))),
  };
  const executor = new DefaultQueryExecutor(new SnakeCaseCompiler(), inner.adapter, connections, [...inner.plugins]);
  // Both begin and end transactions on the connection that the executor provides; a pool of their own they never open.
  const unused = { pool: () => Promise.reject(new Error('connections come from the database that is rewritten')) };
  const dialect = new PostgresDialect(unused);
  return new Kysely<Tables>({ config: { dialect }, dialect, driver: new PostgresDriver(unused), executor });
}

const OF_TRANSACTIONS = /^(begin|start transaction|commit|rollback)\b/;

function rewritten(connection: DatabaseConnection, rewrite: (sql: string) => string): DatabaseConnection {
  const of = (query: CompiledQuery): CompiledQuery =>
    OF_TRANSACTIONS.test(query.sql) ? query : { ...query, sql: rewrite(query.sql) };
  return {
    executeQuery: (query) => connection.executeQuery(of(query)),
    streamQuery: (query, size) => connection.streamQuery(of(query), size),
  };
}
