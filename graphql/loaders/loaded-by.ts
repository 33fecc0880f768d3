import type { Db } from '../../src/postgres/database.ts';
import type { Context } from '../context.ts';

/**
 * Makes a loader that belongs to one field and is declared with its resolver: there is one for each request, and for each moment
 * of the record that the request looks at.
 */
export function loadedBy<Loader>(make: (db: Db, context: Context) => Loader): (context: Context) => Loader {
  const made = new WeakMap<Context['loaders'], Loader>(); // each moment has loaders of its own
  return (context) => {
    const { loaders, sources } = context;
    const known = made.get(loaders) ?? make(sources.db, context);
    made.set(loaders, known);
    return known;
  };
}
