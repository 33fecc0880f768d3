/** What one step of a trajectory was: nothing of it is compared but this. */
export interface WalkedStep {
  readonly id: string;
  readonly action: string;
  readonly observation: string;
}

/** The first depth at which two trajectories are not the same. */
export interface FirstDivergence {
  /** The step up to which both say the same; null where their first observations differ. */
  readonly common: number | null;
  /** `depth` of the first steps that differ. */
  readonly depth: number;
  /** What differs there; `end` where one goes on and the other does not. */
  readonly kind: 'action' | 'observation' | 'end';
}

/**
 * Finds where two trajectories part, by what was done and seen, not by ids: two rollouts of one tree share steps, those of two
 * runs of one task share none. Paths are root first. Null where both are the same to their ends.
 */
export function firstDivergence(a: readonly WalkedStep[], b: readonly WalkedStep[]): FirstDivergence | null {
  const longest = Math.max(a.length, b.length);
  for (let depth = 0; depth < longest; depth++) {
    const [one, other] = [a[depth], b[depth]];
    const kind = !one || !other ? 'end' : differing(one, other);
    if (kind !== null) return { common: depth === 0 ? null : depth - 1, depth, kind };
  }
  return null;
}

function differing(a: WalkedStep, b: WalkedStep): 'action' | 'observation' | null {
  if (a.id === b.id) return null;
  if (a.action !== b.action) return 'action';
  return a.observation === b.observation ? null : 'observation';
}
