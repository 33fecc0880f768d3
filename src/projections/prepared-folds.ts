import type { Db } from '../postgres/database.ts';
import { Preparing } from '../postgres/preparing.ts';

/** Returns the database as it is folded into with a search path; what is prepared there stays valid for the same path. */
export type Folding = (schemas: readonly string[]) => Db;

/**
 * Returns the database as projections fold there slice after slice, by statements that are prepared: half of the cost of a small
 * slice is that its eighty statements are parsed and planned.
 */
export function preparedFolds(db: Db): Folding {
  const folds = new Map<string, Db>();
  return (schemas) => {
    const path = schemas.join(', ');
    const known = folds.get(path);
    if (known) return known;
    const prepared = db.withPlugin(new Preparing(path));
    folds.set(path, prepared);
    return prepared;
  };
}
