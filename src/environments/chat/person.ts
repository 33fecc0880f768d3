import type { Opening, StepResult } from '../environment.ts';

/** Who talks with a policy: a person at a terminal, or a program in their place. */
export interface Person {
  /** Shows what has just happened; never what was on record before. */
  show(happened: TurnOutcome): void;
  /** Waits for what they say now. @throws the signal's reason. */
  next(signal: AbortSignal | undefined): Promise<PersonReply>;
}

export type TurnOutcome =
  | { readonly kind: 'opening'; readonly opening: Opening }
  /** @param action what was executed of the response: what tools and environments read. */
  | { readonly kind: 'step'; readonly response: string; readonly action: string; readonly result: StepResult };

export type PersonReply =
  /** An empty text lets the policy continue without a word. */
  { readonly kind: 'says'; readonly text: string } | { readonly kind: 'ends'; readonly reason: string };
