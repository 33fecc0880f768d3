import type { Db } from '../postgres/database.ts';
import { Preparing } from '../postgres/preparing.ts';
import { type Projection, schemaNameOf } from './projection.ts';

/**
 * Returns the database as projections fold there slice after slice, by statements that are prepared: half of the cost of a small
 * slice is that its eighty statements are parsed and planned.
 */
export function preparedFolds(db: Db): (projection: Projection) => Db {
  const folds = new Map<string, Db>();
  return (projection) => {
    const schema = schemaNameOf(projection);
    const known = folds.get(schema);
    if (known) return known;
    const prepared = db.withPlugin(new Preparing(schema));
    folds.set(schema, prepared);
    return prepared;
  };
}
