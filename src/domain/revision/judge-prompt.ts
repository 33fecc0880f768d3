import type { ChatMessage } from '../history/prompt.ts';
import type { SearchedStep } from '../search/search-tree.ts';

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
