import DataLoader from 'dataloader';
import { forgottenAmong } from '../../src/postgres/stream-keys.ts';
import { forgottenRuns } from '../../src/projections/forgetting/read-forgotten.ts';
import { loadedBy } from './loaded-by.ts';

/** Loads whether something is forgotten of a stream: of a tree, or of a history segment. */
export const forgottenStream = loadedBy((_, { sources: { keys } }) => flagged((ids) => forgottenAmong(keys, ids)));

/** Loads whether something is forgotten of a run or of its trees. */
export const forgottenRun = loadedBy((_, { sources: { keys } }) => flagged((ids) => forgottenRuns(keys, ids)));

function flagged(read: (ids: readonly string[]) => Promise<ReadonlySet<string>>): DataLoader<string, boolean> {
  return new DataLoader(async (ids) => {
    const found = await read(ids);
    return ids.map((id) => found.has(id));
  });
}
