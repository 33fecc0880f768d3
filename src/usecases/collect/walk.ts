import type { DataOf } from '../../events/catalogue.ts';
import type { GrowingTree } from './growing-tree.ts';

/** One rollout under way. */
export interface Walk {
  readonly tree: GrowingTree;
  readonly ordinal: number;
  readonly rolloutId: string;
  readonly fromStepId: string;
  readonly seed: number;
}

export type RolloutOutcome = DataOf<'RolloutFinished'>['outcome'];
