import { groupBy } from '../../group-by.ts';
import { at } from '../rows/rows.ts';
import { measure } from './masked.ts';

/**
 * What a group of one yields: its raw score (verl's loops: mean 0, deviation 1), zero (verl's vectorised forms, verl issue 7581),
 * or nothing at all: the batch is refused. Upstream the three stand side by side unnamed; here a run says which.
 */
export type Singleton = 'raw' | 'zero' | 'forbidden';

export interface GroupMeasure {
  readonly mean: number;
  /** Unbiased; 1 for a group of one. */
  readonly deviation: number;
  readonly size: number;
}

/** Lists the positions of each key, keys in the order in which they are first seen. */
export function positionsByKey(keys: readonly string[]): Map<string, number[]> {
  return groupBy(keys.keys(), (i) => keys[i] ?? ''); // at its own positions
}

/** Measures the scores of each group. @throws RangeError for a group of one when that is forbidden. */
export function measureGroups(
  scores: ArrayLike<number>,
  groups: readonly string[],
  singleton: Singleton,
): Map<string, GroupMeasure> {
  const measures = new Map<string, GroupMeasure>();
  for (const [group, members] of positionsByKey(groups)) {
    const size = members.length;
    const own = members.map((i) => at(scores, i));
    if (size > 1) measures.set(group, { ...measure(own), size });
    else if (singleton === 'forbidden') throw new RangeError(`group ${group} has one member`);
    else measures.set(group, { mean: singleton === 'raw' ? 0 : at(own, 0), deviation: 1, size });
  }
  return measures;
}

/** Maps every score with the measure of its group. */
export function mapScores(
  scores: ArrayLike<number>,
  groups: readonly string[],
  measures: ReadonlyMap<string, GroupMeasure>,
  map: (score: number, measure: GroupMeasure) => number,
): Float64Array {
  return Float64Array.from(scores, (score, i) => {
    const measure = measures.get(groups[i] ?? '');
    if (measure === undefined) throw new RangeError(`the group of row ${i} was not measured`);
    return map(score, measure);
  });
}
