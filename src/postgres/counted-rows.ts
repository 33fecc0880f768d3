import type { Db } from './database.ts';

/** Returns the same database with the rows of every statement counted, those of its transactions too; what throws fails it. */
export function countedRows(db: Db, count: (rows: number) => void): Db {
  return db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      count(result.rows.length);
      return result;
    },
  });
}
