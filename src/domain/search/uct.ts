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
