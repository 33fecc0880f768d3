import type { SearchedStep } from '../search/search-tree.ts';
import { type JudgeSlots, judgeSlots } from './judge-prompt.ts';
import type { Verdict } from './verdict.ts';

/**
 * Where a bad trajectory is given up: its steps up to `index`, included, are kept as the bad prefix. `cause`: the judge rejected
 * that step (`bad`); it rejected none, so the whole trajectory is kept (`none-bad`); a reply could not be read and the search for
 * an error stopped there (`unparsed`); nobody was asked, which is the Direct-Revision baseline of §2.5 (`direct`).
 */
export interface Transition {
  readonly index: number;
  readonly cause: 'bad' | 'none-bad' | 'unparsed' | 'direct';
  /** The revision length of the paper: steps judged, the rejected one included. */
  readonly judged: number;
}

/**
 * What to do about a reply that holds no verdict: go on as if uncertain, or stop there. A transition that stopped there is no
 * error that was found.
 */
export type UnparsedRule = 'continue' | 'stop';

type TransitionStep =
  | { readonly kind: 'judge'; readonly index: number; readonly slots: JudgeSlots }
  | { readonly kind: 'found'; readonly transition: Transition };

/**
 * Decides what is next in the search for the first error of a trajectory, step by step from its first action (specification of
 * Agent-R, §2.4): judge the step at `index`, or the transition is found. A pure function of the verdicts so far, so that any
 * judge can drive it, cached or not.
 * @param steps without the root, at least one. @param verdicts of the first steps, in order. @throws RangeError when there is no
 * step.
 */
export function nextTransitionStep(
  steps: readonly SearchedStep[],
  taskDescription: string,
  verdicts: readonly Verdict[],
  unparsed: UnparsedRule = 'continue',
): TransitionStep {
  if (steps.length === 0) throw new RangeError('a trajectory without an action has no error');
  for (const [index, verdict] of verdicts.slice(0, steps.length).entries()) {
    const stops = verdict === 'bad' || (verdict === 'unparsed' && unparsed === 'stop');
    if (stops) return { kind: 'found', transition: { index, cause: verdict, judged: index + 1 } };
  }
  const index = verdicts.length;
  if (index < steps.length) return { kind: 'judge', index, slots: judgeSlots(taskDescription, steps, index) };
  return { kind: 'found', transition: { index: steps.length - 1, cause: 'none-bad', judged: steps.length } };
}

/** Keeps the whole bad trajectory without asking anyone: the published `--revise 0` (§2.5). */
export function directTransition(steps: readonly SearchedStep[]): Transition {
  return { index: steps.length - 1, cause: 'direct', judged: 0 };
}
