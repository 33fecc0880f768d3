import type { Platform } from '../../platform/open-platform.ts';
import { projections } from '../../projections/registry.ts';
import { limitOf } from '../../runtime/limit.ts';
import { type Rebuilding, rebuildProjection, retireVersions } from '../rebuild/rebuild-projection.ts';

/** The read models whose tables hold payload. */
export const HOLDING = ['runs', 'step-tree', 'rewards', 'replays', 'images', 'prompts', 'pictures', 'annotations'];

const AT_ONCE = 2; // a build waits for Postgres most of its time; each takes up to six connections

/**
 * Folds the read models that hold payload again, without what is forgotten, and drops what was live before. The first failure
 * ends the others. @param after called with the name of each read model that is purged.
 */
export async function purgeReadModels(
  platform: Platform,
  rebuilding: Rebuilding,
  after: (name: string) => void | Promise<void>,
): Promise<void> {
  const failed = new AbortController();
  const options = { ...rebuilding, signal: AbortSignal.any([rebuilding.signal, failed.signal]), differing: 'expected' } as const;
  const inTurn = limitOf(AT_ONCE);
  const purge = async (name: string): Promise<void> => {
    failed.signal.throwIfAborted();
    const projection = projections.find((candidate) => candidate.name === name);
    if (!projection) throw new Error(`no projection ${name}`);
    await rebuildProjection(platform, projection, options);
    await retireVersions(platform, projection); // what was live before holds the payload
    await after(name);
  };
  const ends = await Promise.allSettled(
    HOLDING.map((name) =>
      inTurn(() => purge(name)).catch((error: unknown) => {
        failed.abort(error);
        throw error;
      }),
    ),
  );
  if (ends.some(({ status }) => status === 'rejected')) throw failed.signal.reason; // the first one, which ended the others
}
