/** What one step of an episode is scored by; each part is recorded by itself, so that any other sum can be made later. */
export interface ScoreParts {
  /** The whole episode's return, which every one of its steps is given. */
  readonly task: number;
  /** `factorReward` or `tokensSavedReward`; may be 0. */
  readonly compression: number;
  /** What a step without a valid action loses; 0 or below. */
  readonly invalid: number;
}

/** What an invalid action costs in the published runs (specification of AgentOCR, §3.4). */
export const INVALID_PENALTY = { alfworld: 0.1, search: 0.01 } as const;

/**
 * Takes a step's score apart: the return of its episode, its compression reward, and `−penalty` where its action was not valid.
 */
export function scoreParts(step: {
  readonly episodeReturn: number;
  readonly compression: number;
  readonly valid: boolean;
  readonly penalty: number;
}): ScoreParts {
  return { task: step.episodeReturn, compression: step.compression, invalid: step.valid ? 0 : -step.penalty || 0 };
}

/** Adds the parts up as published: the score that is put on the last token of the step's answer. */
export function totalScore({ task, compression, invalid }: ScoreParts): number {
  return task + compression + invalid;
}
