import type { EnvironmentKind } from '../../environments/environment.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { SelfTrainPlan } from './plan.ts';
import type { Trainer } from './run-trainer.ts';

/** One repetition of a self-training: everything it draws follows from the id of the whole and its seed. */
export interface Repetition {
  readonly platform: Platform;
  readonly selfTrainId: string;
  readonly plan: SelfTrainPlan;
  readonly seed: number;
  readonly kind: EnvironmentKind;
  readonly trainAliases: readonly string[];
  readonly testAliases: readonly string[];
  readonly folders: {
    readonly weights: string;
    /** The released files, and what trainers left. */
    readonly releases: string;
  };
  /** Who trains where the plan says that somebody else does. */
  readonly trainer: Trainer | null;
  readonly concurrency: number;
  readonly signal: AbortSignal;
}
