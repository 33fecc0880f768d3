import { sha256Hex } from '../digest/sha256.ts';
import { fitJudgeLog, type JudgeSlots, judgePrompt } from '../domain/revision/judge-prompt.ts';
import { parseVerdict, type Verdict } from '../domain/revision/verdict.ts';
import type { SearchedStep } from '../domain/search/search-tree.ts';
import { cutText } from '../domain/text/cut-text.ts';
import { type Act, type ActRequest, type Policy, PolicyError } from './policy.ts';
import { createPolicy, type PolicySpec, parsePolicyText } from './policy-spec.ts';

/** Who says of a step of a bad trajectory whether it was the error. Verdicts are kept by name, revision and what was asked. */
export interface Judge {
  readonly name: string;
  /** Another revision may say something else of the same step. */
  readonly revision: string;
  /** Judges one step. The same request yields the same verdict where the judge is deterministic. @throws PolicyError. */
  judge(request: JudgeRequest, signal: AbortSignal): Promise<JudgeReply>;
  close(): Promise<void>;
}

export interface JudgeRequest {
  /** The trajectory, from its first action, and the place of the step to judge. */
  readonly steps: readonly SearchedStep[];
  readonly index: number;
  /** What it is asked: `judgePrompt` makes it a message. */
  readonly slots: JudgeSlots;
  /** Asks the environment how far the goal was before the step and after it; null where it cannot say. */
  readonly planAround: () => Promise<PlanAround | null>;
}

/** How many actions a perfect player would have needed before and after a step; null where there was no way to the goal. */
export interface PlanAround {
  readonly before: number | null;
  readonly after: number | null;
  /** Whether the environment understood and executed the action. */
  readonly executable: boolean;
}

export interface JudgeReply {
  readonly verdict: Verdict;
  /** All that was said. */
  readonly reply: string;
  /** The act of the model that judged, with the prompt that it was asked with; absent where no model was asked. */
  readonly act?: Act;
}

/** The judge cannot judge here: another one must be named. */
export class JudgeUnfit extends Error {
  override readonly name = 'JudgeUnfit';
}

export const JUDGE_FORMS =
  'planner (exact, where the environment plans), planner-strict (a step that brings the goal no nearer is bad too), self (the model that acted), openai:MODEL@URL, or direct (nobody: the whole bad trajectory is kept)';

type JudgeSpec =
  | { readonly kind: 'direct' }
  | { readonly kind: 'planner' | 'planner-strict' }
  | { readonly kind: 'model'; readonly text: string };

/**
 * Reads a judge of the command line. @param acting the policy that collected the run, which `self` means; null when it is not
 * known.
 * @throws JudgeUnfit, PolicySpecError.
 */
export function parseJudgeText(text: string, acting: string | null): JudgeSpec {
  if (text === 'direct' || text === 'planner' || text === 'planner-strict') return { kind: text };
  const named = text === 'self' ? acting : text;
  if (named === null) throw new JudgeUnfit(`judge self: the run does not say which policy acted; name ${JUDGE_FORMS}`);
  const isModel = named.startsWith('openai:') || named.trimStart().startsWith('{');
  if (isModel && parsePolicyText(named).kind === 'openai') return { kind: 'model', text: named };
  const why =
    text === 'self'
      ? `the run's policy ${named} is no model that can be asked`
      : `there is no ${JSON.stringify(text.slice(0, 200))}`;
  throw new JudgeUnfit(`judge: ${why}; name ${JUDGE_FORMS}`);
}

/**
 * Makes the judge that was named; null when nobody is to be asked. Who calls it closes it.
 * @param world the fingerprint of the environment the trees were grown in.
 */
export async function createJudge(
  spec: JudgeSpec,
  world: string,
  secrets: { readonly apiKey?: string | undefined } = {},
): Promise<Judge | null> {
  switch (spec.kind) {
    case 'direct':
      return null;
    case 'planner':
      return planJudge(world);
    case 'planner-strict':
      return planJudge(world, 'strict');
    case 'model': {
      const policy = parsePolicyText(spec.text);
      if (policy.kind !== 'openai') throw new JudgeUnfit(`judge: ${spec.text} is no model`);
      // A verdict is text: token ids and log-probabilities would only make the answer larger.
      return modelJudge(await createPolicy({ tokenIds: 'none', ...policy }, secrets), samplingOf(policy));
    }
    default:
      return spec satisfies never;
  }
}

/**
 * Names the settings that decide what a model replies, so that a verdict that was cut at `maxTokens` is not reused when more are
 * allowed.
 */
function samplingOf({ sampling, maxTokens, stop, systemRole, maxPromptTokens }: OpenAiSpec): string {
  const settings = JSON.stringify({ sampling, maxTokens, stop, systemRole, maxPromptTokens });
  return settings === '{}' ? '' : `/${sha256Hex(settings).slice(0, 8)}`;
}

type OpenAiSpec = Extract<PolicySpec, { kind: 'openai' }>;

/**
 * Makes a judge of a model: one user message, `judgePrompt`, at temperature 0. A reply without a verdict that can be read, an
 * empty one included, is `unparsed`. A log that the model calls too long loses its oldest steps, half of its words at a time.
 * @param policy is closed with the judge. @param sampling names what else decides a reply, such as its longest length; empty for
 * the defaults.
 */
function modelJudge(policy: Policy, sampling = ''): Judge {
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

type Strictness = 'lenient' | 'strict';

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
