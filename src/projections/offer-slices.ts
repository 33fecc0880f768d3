import type { Db } from '../postgres/database.ts';
import { concerns, topicsOf } from './apply-slice.ts';
import { type AppliedTogether, applyTogether, passCursors } from './apply-together.ts';
import type { Projection } from './projection.ts';
import type { Slice } from './slice.ts';

/** Where a projection is after a slice: its cursor, or undefined where it was stopped. */
export interface Reached {
  readonly projection: Projection;
  readonly cursor: number | undefined;
}

export interface Offer {
  readonly db: Db;
  /** The database as a projection folds there with others. */
  readonly folding: (projection: Projection) => Db;
  readonly projections: readonly Projection[];
  readonly slices: readonly Slice[];
  /** Folds one slice alone, until it is done or the projection is stopped. */
  readonly alone: (projection: Projection, slice: Slice) => Promise<number | undefined>;
  readonly quarantined: (projection: Projection, count: number) => void;
}

/**
 * Offers the slices of several partitions to every projection that reads their topics. What concerns a projection it folds in one
 * transaction, and the cursors of all that concerns none move in one statement. Where a slice was not taken there, or all of them
 * failed, it takes a transaction of its own, which finds out what is wrong with it, or waits out what is wrong with the database.
 */
export async function offerSlices(offer: Offer): Promise<ReadonlyMap<Slice, readonly Reached[]>> {
  const { db, projections, slices, alone } = offer;
  const readers = projections.map((projection) => {
    const topics = topicsOf(projection);
    const mine = slices.filter(({ topic }) => topics.includes(topic));
    const concerned = mine.filter(({ items }) => items.some((item) => concerns(projection, item)));
    return { projection, concerned, passing: mine.filter((slice) => !concerned.includes(slice)) };
  });
  const passes = readers.flatMap(({ projection, passing }) => passing.map((slice) => ({ projection, slice })));
  const passing = passes.length === 0 ? new Set() : passCursors(db, passes).catch(() => new Set());
  const reached = new Map(slices.map((slice) => [slice, [] as Reached[]]));
  const settle = async (projection: Projection, slice: Slice, isDone: boolean) => {
    const cursor = isDone ? slice.next : await alone(projection, slice);
    reached.get(slice)?.push({ projection, cursor });
  };
  await Promise.all([
    ...readers.map(async ({ projection, concerned }) => {
      const applied = await foldTogether(offer, projection, concerned);
      await Promise.all(concerned.map((slice) => settle(projection, slice, applied.has(slice))));
    }),
    ...passes.map(async (pass) => settle(pass.projection, pass.slice, (await passing).has(pass))),
  ]);
  return reached;
}

async function foldTogether(
  { folding, quarantined }: Offer,
  projection: Projection,
  slices: readonly Slice[],
): Promise<ReadonlySet<Slice>> {
  if (slices.length === 0) return new Set();
  const together: AppliedTogether = await applyTogether(folding(projection), projection, slices).catch(() => ({
    applied: new Set(),
    quarantined: 0,
  }));
  if (together.quarantined > 0) quarantined(projection, together.quarantined);
  return together.applied;
}
