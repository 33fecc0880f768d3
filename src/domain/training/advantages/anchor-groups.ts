import { rowAt } from '../rows/rows.ts';
import { sequenceRatio } from './sequence-ratio.ts';

/**
 * How two states before an action count as the same: equal text or hash, or texts whose difflib ratio reaches the threshold (0.95
 * upstream).
 */
export type Sameness = { readonly kind: 'exact' } | { readonly kind: 'similar'; readonly threshold: number };

/**
 * Numbers the step groups of GiGPO: rows of one prompt group that acted from the same state. A row joins the first cluster whose
 * *first* member it resembles, in row order, so clusters depend on that order, as published. Numbers count from 0 within each
 * prompt group.
 */
export function groupByAnchor(anchors: readonly string[], groups: readonly string[], sameness: Sameness): Int32Array {
  const clusters = new Map<string, string[]>(); // by prompt group: the first anchor of each cluster
  const numbers = new Int32Array(anchors.length);
  for (const [row, anchor] of anchors.entries()) {
    const group = rowAt(groups, row);
    const firsts = clusters.get(group) ?? [];
    clusters.set(group, firsts);
    const found = firsts.findIndex((first) => isSame(anchor, first, sameness));
    numbers[row] = found === -1 ? firsts.push(anchor) - 1 : found;
  }
  return numbers;
}

function isSame(anchor: string, first: string, sameness: Sameness): boolean {
  if (anchor === first) return true;
  return sameness.kind === 'similar' && sequenceRatio(anchor, first) >= sameness.threshold;
}
