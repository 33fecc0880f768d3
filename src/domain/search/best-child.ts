import { createRandom } from '../random/random.ts';
import { seedFrom } from '../random/seed-from.ts';

/** Children that scored best together, by their positions among all children of the node, and where the walk is. */
export interface Tie {
  readonly simulation: number;
  readonly parentStepId: string;
  readonly pool: readonly number[];
}

/**
 * How one child is taken among the best.
 * - `first`: the lowest position. Scores within 1e-12 count as equal, since the last bit differs between languages (§1.5).
 * - `seeded`: drawn from a stream of (seed, simulation, node), so that a resumed search draws the same; ties as in `first`.
 * - `drawn`: as published: exactly equal scores, and `draw` answers a position in the pool. To resume, it must be a function of
 *   the tie.
 */
export type TieBreak =
  | { readonly kind: 'first' }
  | { readonly kind: 'seeded'; readonly seed: number }
  | { readonly kind: 'drawn'; readonly draw: (tie: Tie) => number };

interface ChildStatistics extends NodeStatistics {
  readonly terminal: boolean;
}

const TOLERANCE = 1e-12; // a few units in the last place of scores near 1

/**
 * Chooses the child that a walk goes to (§1.5): terminal ones are ignored, an unvisited one beats every score, the others compare
 * by UCT. Null when no child is left to walk to: the node is exhausted. @throws RangeError when `draw` answers a position outside
 * the pool.
 */
export function bestChild(
  parent: NodeStatistics & { readonly stepId: string },
  children: readonly ChildStatistics[],
  {
    exploration,
    valueScale = 1,
    tieBreak,
    simulation,
  }: {
    readonly exploration: number;
    readonly valueScale?: number;
    readonly tieBreak: TieBreak;
    readonly simulation: number;
  },
): number | null {
  const scaled = children.map((child) => ({ ...child, valueSum: child.valueSum * valueScale }));
  const pool = bestPositions(parent.visits, scaled, exploration, tieBreak.kind === 'drawn' ? 0 : TOLERANCE);
  if (pool.length === 0) return null;
  const position = breakTie({ simulation, parentStepId: parent.stepId, pool }, tieBreak);
  const chosen = pool[position];
  if (chosen === undefined) throw new RangeError(`position ${position} was drawn from a pool of ${pool.length}`);
  return chosen;
}

/**
 * Returns the positions of the children that may be walked to and score best, within `tolerance`; empty when there is none to
 * walk to.
 */
export function bestPositions(
  parentVisits: number,
  children: readonly ChildStatistics[],
  exploration: number,
  tolerance: number,
): readonly number[] {
  const scores = children.map((child) => {
    if (child.terminal) return Number.NEGATIVE_INFINITY;
    return child.visits === 0 ? Number.POSITIVE_INFINITY : uctScore(child, parentVisits, exploration);
  });
  const best = scores.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
  return scores.flatMap((score, i) => {
    const equal = score === best || best - score <= tolerance; // ∞ − ∞ is no number, hence the first test
    return equal && !children[i]?.terminal ? [i] : [];
  });
}

function breakTie(tie: Tie, tieBreak: TieBreak): number {
  switch (tieBreak.kind) {
    case 'first':
      return 0;
    case 'seeded':
      return createRandom(seedFrom('tie', tieBreak.seed, tie.simulation, tie.parentStepId)).int(tie.pool.length);
    case 'drawn':
      return tieBreak.draw(tie);
  }
}

/** The exploration constant of Agent-R. It presumes rewards in 0..1: on SciWorld's 0..100 the choice is greedy (§6 item 9). */
export const EXPLORATION = 0.25;

/** What a search has counted at a node. `valueSum / visits` is its value. */
export interface NodeStatistics {
  readonly visits: number;
  readonly valueSum: number;
}

/**
 * Scores a node by upper confidence: valueSum / visits + c · √(ln(parentVisits) / visits), the natural logarithm (specification
 * of Agent-R, §1.4). The first part is 0 without visits; the second is 0 without visits or without those of a parent
 * (`parentVisits` null or 0).
 */
export function uctScore({ visits, valueSum }: NodeStatistics, parentVisits: number | null, exploration = EXPLORATION): number {
  if (visits === 0) return 0;
  const bonus = parentVisits === null || parentVisits === 0 ? 0 : exploration * Math.sqrt(Math.log(parentVisits) / visits);
  return valueSum / visits + bonus;
}
