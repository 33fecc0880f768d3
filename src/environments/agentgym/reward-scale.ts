import { DESCRIPTORS } from './descriptors.ts';

/** Returns what a whole reward is in an environment's own scores: ScienceWorld counts to 100, all others to 1, ours too. */
export function rewardScaleOf(environment: string): number {
  return Object.values(DESCRIPTORS).find(({ name }) => name === environment)?.step.scale ?? 1;
}
