import { catalogue, type EventType } from '../events/catalogue.ts';
import type { Projection } from './projection.ts';
import type { Item, Slice } from './slice.ts';

/** Lists the topics that hold a projection's types. */
export function topicsOf(projection: Projection): readonly string[] {
  const types = projection.handles === 'all' ? (Object.keys(catalogue) as EventType[]) : projection.handles;
  return [...new Set(types.map((type) => catalogue[type].topic))];
}

/** Returns the items of a slice that concern a projection. */
export function concerning(projection: Projection, { items }: Slice): readonly Item[] {
  return hasTypesOf(projection, items) ? items.filter((item) => concerns(projection, item)) : [];
}

/** Returns whether any item of a slice concerns a projection. */
export function isConcerned(projection: Projection, { items }: Slice): boolean {
  return hasTypesOf(projection, items) && items.some((item) => concerns(projection, item));
}

/** Returns whether an item is of a projection's types; the one that handles all also takes what is no event. */
function concerns(projection: Projection, item: Item): boolean {
  if (projection.handles !== 'all') {
    const type = item.kind === 'event' ? item.delivery.event.type : item.type;
    if (type === null || !setOf(projection.handles).has(type)) return false;
  }
  if (item.kind === 'refused') return true;
  const { supersededBy, repeats, event } = item.delivery;
  const hasEffect = supersededBy === undefined && repeats === undefined;
  if (!hasEffect && !projection.keepsWithoutEffect) return false;
  // A requeued event leaves the quarantine, whatever it changes.
  return !projection.skips || event.released !== undefined || !projection.skips(item.delivery);
}

/** Checked first: most projections fold types that a slice has none of. */
function hasTypesOf({ handles }: Projection, items: readonly Item[]): boolean {
  if (handles === 'all') return true;
  const set = setOf(handles);
  return typesIn(items).some((type) => set.has(type));
}

const sets = new WeakMap<readonly EventType[], ReadonlySet<string>>();
function setOf(handles: readonly EventType[]): ReadonlySet<string> {
  const known = sets.get(handles);
  if (known) return known;
  const set = new Set<string>(handles);
  sets.set(handles, set);
  return set;
}

const types = new WeakMap<readonly Item[], readonly string[]>();
function typesIn(items: readonly Item[]): readonly string[] {
  const known = types.get(items);
  if (known) return known;
  const all = new Set(items.map((item) => (item.kind === 'event' ? item.delivery.event.type : (item.type ?? ''))));
  types.set(items, [...all]);
  return [...all];
}
