import { at } from '../rows/rows.ts';
import { measureGroups, positionsByKey } from '../statistics/groups.ts';
import { divisor } from './group-relative.ts';

/**
 * Pass@k training: only the best row of a group counts, A = (s₁ − s₂)/(σ + 1e-6), or undivided; ties give 0. Source: verl
 * `grpo_passk`.
 * @throws RangeError for a group of one, which has no second.
 */
export function passAtK(scores: ArrayLike<number>, groups: readonly string[], scale: 'std' | 'none'): Float64Array {
  const measures = measureGroups(scores, groups, 'forbidden');
  const advantages = new Float64Array(scores.length);
  for (const [group, rows] of positionsByKey(groups)) {
    const [best, second] = rows.toSorted((a, b) => at(scores, b) - at(scores, a) || a - b);
    const measure = measures.get(group);
    if (best === undefined || second === undefined || measure === undefined) continue; // a group of one threw above
    advantages[best] = (at(scores, best) - at(scores, second)) / divisor(scale, measure.deviation);
  }
  return advantages;
}
