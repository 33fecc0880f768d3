import { useMemo } from 'react';
import { type TreeOutlineQuery, treeOutline } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { type Numbers, unpack } from '../parts/unpack.ts';

type Columns = NonNullable<TreeOutlineQuery['tree']>['outline'];

/** A step as the tree shows it. */
export interface TreeStep {
  readonly id: string;
  readonly parentId: string | null;
  readonly action: string;
  readonly executable: boolean;
  readonly ends: boolean;
  /** The sum of its rewards; null where it has none. */
  readonly reward: number | null;
}

/** The back-ups of a search: of each its value and the places of its path among the steps. */
export interface BackUps {
  readonly length: number;
  readonly values: Numbers;
  readonly lengths: Numbers;
  readonly paths: Numbers;
}
export interface Outline {
  readonly steps: readonly TreeStep[];
  readonly backUps: BackUps;
}

/** Reads a tree in one question: its steps, and the back-ups of its search, which any simulation is played from. */
export function useOutline(id: string) {
  const answer = useAsk(treeOutline, { id });
  const columns = answer.data?.tree?.outline;
  const outline = useMemo(() => (columns ? outlineOf(columns) : undefined), [columns]);
  return { outline, error: answer.error };
}

function outlineOf({ ids, actions, backUps, ...packed }: Columns): Outline {
  const [parents, executable, terminations, rewards] = [
    unpack(packed.parents),
    unpack(packed.executable),
    unpack(packed.terminations),
    unpack(packed.rewards),
  ];
  const steps = ids.map((id, place): TreeStep => {
    const reward = rewards[place] ?? Number.NaN;
    return {
      id,
      parentId: ids[parents[place] ?? -1] ?? null,
      action: actions[place] ?? '',
      executable: executable[place] === 1,
      ends: terminations[place] !== 0,
      reward: Number.isNaN(reward) ? null : reward,
    };
  });
  const [values, lengths, paths] = [unpack(backUps.values), unpack(backUps.lengths), unpack(backUps.paths)];
  return { steps, backUps: { length: backUps.length, values, lengths, paths } };
}
