import type { Verdict } from '../domain/revision/verdict.ts';
import { cutText } from '../domain/text/cut-text.ts';
import { type Judge, JudgeUnfit, type PlanAround } from './judge.ts';

export type Strictness = 'lenient' | 'strict';

/**
 * Makes the judge that knows: it compares the shortest plan to the goal before the step with the one after it. Good: fewer
 * actions are left. Bad: more are left, none lead there any more, or the environment did not execute the action. Uncertain: as
 * many are left as before, as after looking around or getting more than is needed, which costs a step but takes nothing away.
 * @param world the fingerprint of the world it plans in: recipes that differ give other plans for the same words.
 * @param strictness `strict`: a step after which as many actions are left as before is bad too, since it cost a step.
 */
export function planJudge(world: string, strictness: Strictness = 'lenient'): Judge {
  return {
    name: strictness === 'strict' ? 'planner-strict' : 'planner',
    revision: cutText(`1/${world}`, 200),
    async judge({ planAround }, signal) {
      signal.throwIfAborted();
      const around = await planAround();
      if (!around)
        throw new JudgeUnfit(
          'the environment has no planner, or did not repeat what was recorded; judge by a model instead: openai:MODEL@URL',
        );
      const verdict = verdictOf(around, strictness);
      return { verdict, reply: writeReply(around, verdict) };
    },
    async close() {},
  };
}

function verdictOf({ before, after, executable }: PlanAround, strictness: Strictness): Verdict {
  if (!executable) return 'bad';
  const [left, right] = [before ?? Number.POSITIVE_INFINITY, after ?? Number.POSITIVE_INFINITY];
  if (right < left) return 'good';
  return right > left || strictness === 'strict' ? 'bad' : 'uncertain';
}

/** Writes what was found in the form in which models answer, so that readers of judgements need to know one. */
function writeReply(around: PlanAround, verdict: Verdict): string {
  const { before, after, executable } = around;
  const length = (actions: number | null) => (actions === null ? 'no plan' : `${actions} actions`);
  const found = executable ? '' : 'The action was not executed. ';
  const label = { good: 'Good', bad: 'Bad', uncertain: 'Uncertain', unparsed: 'Uncertain' }[verdict];
  return `${found}To the goal: ${length(before)} before the step, ${length(after)} after it.\nJudgement: ${label}`;
}
