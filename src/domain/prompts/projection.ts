import type { FactorReading } from '../compression/read-factor.ts';

/** What an answer breaks, or what was done with it. Every flag but the two at the end makes it invalid. */
export type ProjectionFlag =
  | 'no-action'
  | 'repeated-action-tag'
  | 'no-think'
  | 'repeated-think-tag'
  | 'cjk'
  | 'repeated-compression-tag'
  | 'search-and-answer'
  | 'repeated-search-tag'
  | 'repeated-answer-tag'
  | 'not-well-formatted'
  /** The tags enclose nothing; the published rules call that a valid action. */
  | 'empty-action'
  /** The step's factor is 1 whatever the answer asked for: no image follows it, or nothing in it counts. */
  | 'factor-forced';

/** What an answer means in its world. */
export interface Projection {
  /** What is given to the world: a command, or in Search the query or answer with its tags; '' where there is none. */
  readonly action: string;
  readonly thought: string;
  /** Keeps the rules of the world's form. Whether the world knows the action is not asked here. */
  readonly valid: boolean;
  /** The factor of the next history image; 1 where no compression was asked for. */
  readonly factor: number;
  /** How the factor was read; null where no compression was asked for. */
  readonly reading: FactorReading | null;
  readonly flags: readonly ProjectionFlag[];
}

/** What one world's rules find in an answer, before the factor. */
export interface ReadAnswer {
  readonly action: string;
  readonly thought: string;
  readonly broken: readonly Exclude<ProjectionFlag, 'empty-action' | 'factor-forced'>[];
  /** The factor is 1 whatever is asked for. */
  readonly forced: boolean;
}

/** Counts how often a pattern (with flag `g`) occurs. */
export function countMatches(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}
