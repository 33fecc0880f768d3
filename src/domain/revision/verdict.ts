import type { ChatMessage } from '../history/prompt.ts';
import type { SearchedStep } from '../search/search-tree.ts';
import { pythonStrip } from '../text/python-strip.ts';

/** What a judge said of a step. `unparsed`: its reply holds no verdict that can be read; that is not a bad step. */
export type Verdict = 'good' | 'bad' | 'uncertain' | 'unparsed';

const LABEL = /^(good|bad|uncertain)\b/i;
const MARKER = /judge?ments?["'*_\s“”‘’]*[:：]/gi;
const DECORATION = /^(?:[\s<>*_"'`[\](){}$“”„‘’‚«»‹›「」『』]|\\(?:boxed|fbox|text|textbf|textit|mathbf|mathrm)\s*\{|\\[([])+/;
const BARE = /^(good|bad|uncertain)[\s.>*_"'`\])}$\\“”‘’«»‹›「」『』]*$/i;
const BOXED = /\\boxed\s*\{\s*(?:\\text(?:bf)?\s*\{\s*)?(good|bad|uncertain)\s*\}/gi;
/** The template handed back, `<Good/Bad/Uncertain>`, names a label first but chooses none. */
const CHOICE = /^(good|bad|uncertain)[\s>]*(?:[/|,]|or\b)[\s<]*(?!\1)(good|bad|uncertain)\b/i;

/**
 * Reads a judge's reply: the label that directly follows the last `Judgement:` (or `Judgment:`, in any case, with or without
 * quotes and markup), else the last one behind it in a `\boxed{}` of its own, or a reply that is nothing but a label. All else is
 * `unparsed`, "not good" included: the published substring test accepts it, and takes what it cannot read for bad (specification
 * of Agent-R, §2.4, §6 item 11).
 */
export function parseVerdict(reply: string): Verdict {
  const marker = [...reply.matchAll(MARKER)].at(-1);
  const rest = marker ? reply.slice(marker.index + marker[0].length) : reply;
  const said = rest.replace(DECORATION, '');
  if (CHOICE.test(said)) return 'unparsed';
  const first = marker || BARE.test(said) ? LABEL.exec(said)?.[1] : undefined;
  const label = (first ?? [...rest.matchAll(BOXED)].at(-1)?.[1])?.toLowerCase();
  return label === 'good' || label === 'bad' || label === 'uncertain' ? label : 'unparsed';
}

interface PublishedVerdict {
  /** The text after the last `Judgement:`, or the whole reply; what the row keeps. */
  readonly judgement: string;
  readonly verdict: 'good' | 'bad' | 'uncertain';
}

/**
 * Reads a judge's reply as Agent-R does (§2.4): any "good" or "uncertain" in the text after the last `Judgement:` accepts the
 * step, everything else, even an empty reply, rejects it. `Judgment` is no marker.
 */
export function parseVerdictAsPublished(reply: string): PublishedVerdict {
  const judgement = pythonStrip(reply.split('Judgement:').at(-1) ?? '');
  const lower = judgement.toLowerCase();
  return { judgement, verdict: lower.includes('good') ? 'good' : lower.includes('uncertain') ? 'uncertain' : 'bad' };
}

/** The template of `judgePrompt`; its version is raised with every change of its words. */
export const JUDGE_TEMPLATE = { name: 'agent-r-judge', version: 1 };

/** What a judge receives about one step. */
export interface JudgeSlots {
  /** The task's first observation. */
  readonly taskDescription: string;
  /** The steps before it, which were accepted: `Action:` and `Observation:` lines. */
  readonly log: string;
  readonly action: string;
  readonly observation: string;
}

/**
 * Fills the slots for the step at `index` of a trajectory. The action is the one that was executed, without its thought (§2.4).
 */
export function judgeSlots(taskDescription: string, steps: readonly SearchedStep[], index: number): JudgeSlots {
  const step = steps[index];
  if (!step) throw new RangeError(`the trajectory has no step ${index}`);
  return {
    taskDescription,
    log: steps.slice(0, index).map(logLines).join('\n'),
    action: step.action,
    observation: step.observation,
  };
}

/**
 * Writes the request to a judge: one user message (specification of Agent-R, §2.4). Parts and slots are those of the published
 * prompt: role, form of the log, three definitions, the log itself, reasons first and the label last. The words are ours, and
 * speak of any task.
 */
export function judgePrompt({ taskDescription, log, action, observation }: JudgeSlots): readonly ChatMessage[] {
  const content = `You check the work of an agent that acts step by step in an interactive environment. You are shown its task, the steps it has taken so far and its current step. Judge the current step only.

The log has this form:
\`\`\`
Task Description: what the agent has to achieve and what it saw first
Action: an earlier action of the agent
Observation: what the environment answered
(more earlier actions and observations)
Current_Action: the action to be judged
Current_Observation: what the environment answered to it
\`\`\`

The labels:
- Good: the step clearly brings the agent closer to completing the task.
- Bad: the step clearly hinders the task: it is a mistake, undoes progress, or leads where the task cannot be completed.
- Uncertain: the step does neither, or it cannot be told yet.

Log:
Task Description: ${taskDescription}
${log === '' ? '' : `${log}\n`}Current_Action: ${action}
Current_Observation: ${observation}

First give your reasons in a few sentences. Then end with one line that holds nothing but the label in angle brackets:
Judgement: <Good>, <Bad> or <Uncertain>`;
  return [{ role: 'user', content }];
}

/**
 * Shortens the log to at most `maxWords` words by leaving out its oldest steps, and says how many. Steps are counted whole, so
 * that no action is left without its observation; the published code cuts six characters at a time and counts again (§2.4).
 */
export function fitJudgeLog(
  taskDescription: string,
  steps: readonly SearchedStep[],
  index: number,
  maxWords: number,
): { readonly slots: JudgeSlots; readonly leftOut: number } {
  const slots = judgeSlots(taskDescription, steps, index);
  const lengths = steps.slice(0, index).map((step) => words(logLines(step)));
  let total = lengths.reduce((sum, length) => sum + length, 0);
  let leftOut = 0;
  while (total > maxWords && leftOut < lengths.length) total -= lengths[leftOut++] ?? 0;
  return { slots: { ...slots, log: steps.slice(leftOut, index).map(logLines).join('\n') }, leftOut };
}

function logLines({ action, observation }: SearchedStep): string {
  return `Action: ${action}\nObservation: ${observation}`;
}

function words(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length;
}

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
