import type { AskedMessage } from '../../../domain/prompts/asked-prompt.ts';
import type { RecordedPrompt } from '../../../projections/prompts/read-prompts.ts';
import type { RecordedRollout, RecordedStep, TreeHead } from '../../../projections/trajectories/recorded-tree.ts';
import type { RowAnnotation } from './annotations-on.ts';

/** What a format writes: one finished rollout, root first, every text in place. */
export interface ExportTrajectory {
  readonly head: TreeHead;
  readonly rollout: RecordedRollout;
  readonly returnValue: number;
  /** Sums of the rewards along the path and on the rollout, by component. */
  readonly rewards: Readonly<Record<string, number>>;
  /** Of these the sums of those on the rollout itself, which no step holds. */
  readonly rolloutRewards: Readonly<Record<string, number>>;
  readonly root: RecordedStep;
  /** Ids of the pictures of its observation. */
  readonly firstPictures?: readonly string[];
  /** The steps after the root, each with the rewards that stand on it and the prompt that it was asked with. */
  readonly steps: readonly ExportStep[];
  /** What was said of the rollout and of its steps. */
  readonly annotations: readonly RowAnnotation[];
  /** The recorded configuration of the run, whatever its producer wrote. */
  readonly config: unknown;
}

export interface ExportStep extends Omit<RecordedStep, 'reply'> {
  /** The reply with its structure. */
  readonly message: AskedMessage;
  readonly rewards: Readonly<Record<string, number>>;
  /** Ids of the pictures of its observation. */
  readonly pictures?: readonly string[];
  /** Null where the record holds none. */
  readonly prompt: RecordedPrompt | null;
}

/** Whether somebody rewarded a step of its path, or it as a whole. Without a reward its return is unknown, and not 0. */
export function isRewarded({ rewards }: Pick<ExportTrajectory, 'rewards'>): boolean {
  return Object.keys(rewards).length > 0;
}
