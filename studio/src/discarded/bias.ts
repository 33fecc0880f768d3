import { wilson } from '../parts/format.ts';

/** In the place of a reason: the batch of a sample was abandoned. */
export const ABANDONED = 'abandoned';

export type Bias = 'more often' | 'less often' | 'as the rest' | 'cannot be said';

interface Counted {
  readonly discarded: number;
  readonly produced: number;
  readonly groups: number;
}

/**
 * Returns whether a part is discarded more or less often than all samples: where the Wilson interval of its share at 95 % does
 * not hold their share. It counts groups, not samples: members of a group are rejected together, and a sample more says little.
 * Of twenty parts without a bias one is expected to be marked. Of one group nothing can be said.
 */
export function biasOf({ discarded, produced, groups }: Counted, share: number): Bias {
  const interval = produced === 0 || groups < 2 ? null : wilson((groups * discarded) / produced, groups);
  if (interval === null) return 'cannot be said';
  if (share >= interval[0] && share <= interval[1]) return 'as the rest';
  return interval[0] > share ? 'more often' : 'less often';
}
