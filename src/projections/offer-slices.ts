import { groupBy } from '../domain/group-by.ts';
import type { Db } from '../postgres/database.ts';
import { applyGroup } from './apply-group.ts';
import { isConcerned, topicsOf } from './apply-slice.ts';
import { applyTogether, type Pass, passCursors } from './apply-together.ts';
import type { Folding } from './prepared-folds.ts';
import { type Projection, schemaNameOf } from './projection.ts';
import type { Slice } from './slice.ts';

/** Where a projection is after a slice: its cursor, or undefined where it was stopped. */
export interface Reached {
  readonly projection: Projection;
  readonly cursor: number | undefined;
}

export interface Offer {
  readonly db: Db;
  /** The database as projections fold there with others. */
  readonly folding: Folding;
  readonly projections: readonly Projection[];
  readonly slices: readonly Slice[];
  /** Folds one slice alone, until it is done or the projection is stopped. */
  readonly alone: (projection: Projection, slice: Slice) => Promise<number | undefined>;
  readonly quarantined: (projection: Projection, count: number) => void;
  /** Called where slices that were folded together failed, and are folded again one by one. */
  readonly failed: (error: unknown) => void;
}

// Records of slices up to which all projections share a transaction; above it, each folds on a connection of its own.
const GROUPED = 1_000;

/**
 * Offers the slices of several partitions to every projection that reads their topics. Small ones go to all projections in one
 * transaction. Of larger ones, and where that failed, each projection folds what concerns it in one of its own, and the cursors
 * of all that concerns none move in one statement. Where a slice was not taken there, or all of them failed, it takes a
 * transaction by itself, which finds out what is wrong with it, or waits out what is wrong with the database.
 */
export async function offerSlices(offer: Offer): Promise<ReadonlyMap<Slice, readonly Reached[]>> {
  const { projections, slices, alone } = offer;
  const passes = projections.flatMap((projection) => {
    const topics = topicsOf(projection);
    return slices.flatMap((slice) => (topics.includes(slice.topic) ? [{ projection, slice }] : []));
  });
  const reached = new Map(slices.map((slice) => [slice, [] as Reached[]]));
  const settle = async ({ projection, slice }: Pass, isDone: boolean) => {
    const cursor = isDone ? slice.next : await alone(projection, slice);
    reached.get(slice)?.push({ projection, cursor });
  };
  const records = slices.reduce((sum, { items }) => sum + items.length, 0);
  const grouped = records > GROUPED ? undefined : await foldGrouped(offer, passes);
  if (grouped) await Promise.all(passes.map((pass) => settle(pass, grouped.has(pass))));
  else await foldEach(offer, passes, settle);
  return reached;
}

/** Returns what was folded, undefined where nothing was. */
async function foldGrouped(
  { folding, projections, quarantined, failed }: Offer,
  passes: readonly Pass[],
): Promise<ReadonlySet<Pass> | undefined> {
  const schemas = projections.map(schemaNameOf);
  const group = await applyGroup(folding(schemas), schemas, passes).catch(failed);
  if (!group) return undefined;
  for (const [projection, count] of group.quarantined) quarantined(projection, count);
  return group.applied;
}

async function foldEach(
  offer: Offer,
  passes: readonly Pass[],
  settle: (pass: Pass, isDone: boolean) => Promise<void>,
): Promise<void> {
  const toFold = new Set(passes.filter(({ projection, slice }) => isConcerned(projection, slice)));
  const concerned = groupBy(toFold, ({ projection }) => projection);
  const others = passes.filter((pass) => !toFold.has(pass));
  const passing = others.length === 0 ? new Set() : passCursors(offer.db, others).catch(() => new Set());
  await Promise.all([
    ...[...concerned].map(async ([projection, mine]) => {
      const applied = await foldTogether(
        offer,
        projection,
        mine.map(({ slice }) => slice),
      );
      await Promise.all(mine.map((pass) => settle(pass, applied.has(pass.slice))));
    }),
    ...others.map(async (pass) => settle(pass, (await passing).has(pass))),
  ]);
}

async function foldTogether(
  { folding, quarantined, failed }: Offer,
  projection: Projection,
  slices: readonly Slice[],
): Promise<ReadonlySet<Slice>> {
  const together = await applyTogether(folding([schemaNameOf(projection)]), projection, slices).catch(failed);
  if (!together) return new Set();
  if (together.quarantined > 0) quarantined(projection, together.quarantined);
  return together.applied;
}
