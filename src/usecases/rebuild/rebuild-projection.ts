import type { Platform } from '../../platform/open-platform.ts';
import { readLiveVersions } from '../../projections/live-versions.ts';
import { codeVersionOf, type Projection } from '../../projections/projection.ts';
import { agrees, type BuildComparison, compareBuild } from '../../projections/rebuild/compare-build.ts';
import { holdRebuild } from '../../projections/rebuild/hold-rebuild.ts';
import { dropBuild, reopenKeptVersion } from '../../projections/rebuild/open-build.ts';
import { readShadowVersions } from '../../projections/rebuild/read-builds.ts';
import { swapVersions } from '../../projections/rebuild/swap-versions.ts';
import type { Watching } from '../../projections/rebuild/watch-build.ts';
import { withCaughtUpBuild, withNewBuild } from '../../projections/rebuild/with-new-build.ts';

export interface RebuildOptions extends Watching {
  /** How long to wait for a moment in which versions can be compared or swapped; readers that stay open for long put it off. */
  readonly limitMs: number;
}
export type RebuildResult =
  | { readonly kind: 'swapped'; readonly from: number; readonly to: number; readonly comparison: BuildComparison | null }
  /** The build is kept as it is: the same code folded something else, and who asked did not say that it may take over. */
  | { readonly kind: 'differs'; readonly build: number; readonly comparison: BuildComparison };
type Parts = Pick<Platform, 'database' | 'log'> & Partial<Pick<Platform, 'threads'>>;

/**
 * Folds a projection again next to the live version and lets the build take over. One of the same code is compared with the live
 * tables first, unless they are expected to differ; where they do, it takes over only when `differing` says so. What was live is
 * kept until `retireVersions`.
 */
export async function rebuildProjection(
  parts: Parts,
  projection: Projection,
  given: RebuildOptions & { readonly differing: 'refuse' | 'accept' | 'expected' },
): Promise<RebuildResult> {
  const { database } = parts;
  return holdRebuild(database, projection, async (lost) => {
    const options = endingWith(given, lost);
    return withNewBuild(parts, projection, options, async (build) => {
      const live = (await readLiveVersions(database.db)).get(projection.name);
      const same = live !== undefined && codeVersionOf(live) === projection.version;
      const comparison = same && options.differing !== 'expected' ? await compareBuild(database, build, options) : null;
      if (comparison !== null && !agrees(comparison) && options.differing === 'refuse')
        return { kind: 'differs', build: build.version, comparison };
      const from = await swapVersions(database, build, options);
      return { kind: 'swapped', from, to: build.version, comparison };
    });
  });
}

/** There is no version to go back to, or this code cannot bring it up to the live one. */
export class NoKeptVersion extends Error {
  override readonly name = 'NoKeptVersion';
}

/** Lets the version that was live before take over again: it first folds what it missed. @throws NoKeptVersion. */
export async function swapBack(
  parts: Parts,
  projection: Projection,
  options: RebuildOptions,
): Promise<{ readonly from: number; readonly to: number }> {
  const { database } = parts;
  return holdRebuild(database, projection, async (lost) => {
    const [newest] = await readShadowVersions(parts.database.db, projection.name, 'kept');
    if (newest === undefined) throw new NoKeptVersion(`no earlier version of ${projection.name} is kept`);
    if (codeVersionOf(newest) !== projection.version)
      throw new NoKeptVersion(
        `version ${newest} of ${projection.name} was folded by other code; swap back with a checkout of version ${codeVersionOf(newest)}`,
      );
    const build = await reopenKeptVersion(database, parts.log, projection, newest);
    const ending = endingWith(options, lost);
    return withCaughtUpBuild(parts, build, ending, async () => ({
      from: await swapVersions(database, build, ending),
      to: newest,
    }));
  });
}

/** Drops every version that is not live, kept or unfinished; returns them. */
export async function retireVersions(parts: Parts, projection: Projection): Promise<readonly number[]> {
  return holdRebuild(parts.database, projection, async () => {
    const versions = [
      ...(await readShadowVersions(parts.database.db, projection.name, 'kept')),
      ...(await readShadowVersions(parts.database.db, projection.name, 'building')),
    ];
    for (const version of versions) await dropBuild(parts.database.db, projection, version);
    return versions;
  });
}

/** Lets a rebuild end as soon as another process has the right to build. */
export function endingWith<T extends RebuildOptions>(options: T, signal: AbortSignal): T {
  return { ...options, signal: AbortSignal.any([options.signal, signal]) };
}
