import { fitJudgeLog, judgePrompt } from '../domain/revision/judge-prompt.ts';
import { parseVerdict } from '../domain/revision/verdict.ts';
import { cutText } from '../domain/text/cut-text.ts';
import type { Judge, JudgeRequest } from './judge.ts';
import { type ActRequest, type Policy, PolicyError } from './policy.ts';

/**
 * Makes a judge of a model: one user message, `judgePrompt`, at temperature 0. A reply without a verdict that can be read, an
 * empty one included, is `unparsed`. A log that the model calls too long loses its oldest steps, half of its words at a time.
 * @param policy is closed with the judge. @param sampling names what else decides a reply, such as its longest length; empty for
 * the defaults.
 */
export function modelJudge(policy: Policy, sampling = ''): Judge {
  return {
    name: cutText(`model:${policy.ref.policyId}`, 200), // a model may be called planner
    revision: `1/v${policy.ref.version}${sampling}`,
    async judge(request, signal) {
      const [act] = await askShortening(policy, request, signal);
      const reply = act?.response ?? '';
      return { verdict: parseVerdict(reply), reply, ...(act ? { act } : {}) };
    },
    close: () => policy.close(),
  };
}

async function askShortening(policy: Policy, { steps, index, slots }: JudgeRequest, signal: AbortSignal) {
  let fitted = slots;
  for (;;) {
    try {
      return await policy.act(asking(judgePrompt(fitted)[0]?.content ?? ''), signal);
    } catch (error) {
      if (!(error instanceof PolicyError) || error.code !== 'context-overflow' || fitted.log === '') throw error;
      const words = fitted.log.split(/\s+/).length;
      fitted = fitJudgeLog(slots.taskDescription, steps, index, Math.floor(words / 2)).slots;
    }
  }
}

/** A conversation that is nothing but one user message. */
function asking(content: string): ActRequest {
  return {
    goal: '',
    instruction: '',
    firstObservation: content,
    history: [],
    admissibleActions: null,
    expertAction: async () => null,
    seed: 0,
    n: 1,
    temperature: 0,
  };
}
