import type { PictureIds } from '../../environments/same-observation.ts';
import type { PolicyRef } from '../../events/schemas/values.ts';
import type { Behind } from './plan.ts';

/** A recorded step that is taken again as it was: what was said, by which policy, what was executed, and what must come of it. */
export interface ActedStep {
  readonly response: string;
  readonly policy: PolicyRef;
  readonly taken: TakenStep;
}

/** What a step was, and its result. */
export interface TakenStep {
  readonly thought: string;
  readonly action: string;
  readonly wellFormatted: boolean;
  readonly observation: string;
  readonly pictures?: PictureIds | undefined;
  /** The environment's. */
  readonly reward: number;
  readonly termination: 'none' | 'terminated' | 'truncated';
  /** Null where the environment does not show its state. */
  readonly stateHash: string | null;
}

export interface Prefix {
  /** The task's first observation with its pictures, and the state there; null where the record has none. */
  readonly observation: string | null;
  readonly pictures?: PictureIds | undefined;
  readonly stateHash: string | null;
  readonly steps: readonly ActedStep[];
}

/** Reads the steps that a planned task goes on behind, in order. */
export type ReadPrefix = (behind: Behind) => Promise<Prefix>;
