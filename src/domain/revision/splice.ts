import type { ChatMessage } from '../history/prompt.ts';
import type { PolicyMessage } from '../prompts/policy-prompt.ts';
import type { SearchedStep } from '../search/search-tree.ts';

/**
 * A turn of a revision trajectory. `loss` is whether its reply is trained on; `stepId` is null for a turn that nobody took.
 */
export interface RevisedTurn {
  readonly part: 'bad' | 'signal' | 'good';
  readonly stepId: string | null;
  readonly response: string;
  /** The reply as a message, where it is more than the text `response`. */
  readonly message?: PolicyMessage;
  readonly observation: string;
  readonly loss: boolean;
}

/** A message of a published row: only replies after the first observation carry a loss flag. */
export type LossMessage = ChatMessage & { readonly loss?: boolean };

/**
 * Splices as Agent-R does (specification, §2.6): the bad steps kept, the signal as a turn of its own with the action `wait` and
 * the answer `ok.`, then the good trajectory without the steps whose replies stand at the same place of what came before. When
 * the judge rejected a step that both share, the rest of the shared steps follows again: kept here, since faithful.
 */
export function spliceAsPublished(
  kept: readonly SearchedStep[],
  good: readonly SearchedStep[],
  reflection: string,
): readonly RevisedTurn[] {
  const before = [...kept.map((step) => turnOf('bad', step, false)), signalTurn(reflection)];
  let shared = 0;
  while (shared < good.length && good[shared]?.response === before[shared]?.response) shared++;
  return [...before, ...good.slice(shared).map((step) => turnOf('good', step, true))];
}

/**
 * How a revision says that it turns back. `turn`: as published, with a pseudo action that the environment never saw (§6 item 12).
 * `thought`: as the beginning of the first good reply, so that every action of the trajectory is one that can be executed.
 */
export type SignalForm = 'turn' | 'thought';

/**
 * How a recorded revision says it. `in-form`: in the thought of the first good reply, by that reply's own form. `thought`: behind
 * the label `Thought:`, which is the same for replies that have it; revisions of other replies (`<think>…`) were recorded so as
 * well, with a label that their form does not know.
 */
export type RecordedSignal = SignalForm | 'in-form';

/**
 * Returns how a signal is recorded that precedes a reply; null where no reply of its form can be a turn of its own: there
 * is no action to wait by.
 */
export function recordSignal(form: SignalForm, reply: string): RecordedSignal | null {
  if (form === 'turn') return replyFormOf(reply) === 'labels' ? 'turn' : null;
  return keepsForm('thought', reply) ? 'thought' : 'in-form';
}

/** Returns whether a recorded signal leaves a reply in its own form. */
export function keepsForm(signal: RecordedSignal, reply: string): boolean {
  if (signal === 'thought') return labelFirst('R', reply) === beginThought('R', reply);
  return signal === 'in-form' || replyFormOf(reply) === 'labels';
}

/**
 * Splices soundly: the bad trajectory up to its transition, the signal, and the good trajectory from the step where the two part.
 * What they share occurs once and is, like the bad steps, context.
 * @param branch how many first steps they share. @throws RangeError when the transition lies before the first step that differs.
 */
export function splice(
  pair: { readonly bad: readonly SearchedStep[]; readonly good: readonly SearchedStep[]; readonly branch: number },
  transition: number,
  reflection: string,
  form: RecordedSignal,
): readonly RevisedTurn[] {
  const { bad, good, branch } = pair;
  if (transition < branch) throw new RangeError(`transition ${transition} lies before the first step that differs, ${branch}`);
  const prefix = bad.slice(0, transition + 1).map((step) => turnOf('bad', step, false));
  const suffix = good.slice(branch).map((step) => turnOf('good', step, true));
  const [first, ...rest] = suffix;
  if (form === 'turn' || !first) return [...prefix, signalTurn(reflection), ...suffix];
  const response = form === 'thought' ? labelFirst(reflection, first.response) : beginThought(reflection, first.response);
  return [...prefix, { ...first, part: 'signal', response }, ...rest];
}

/** Writes turns as messages behind those that opened the conversation. */
export function lossMessages(opening: readonly ChatMessage[], turns: readonly RevisedTurn[]): readonly LossMessage[] {
  const spliced = turns.flatMap(({ response, observation, loss }): LossMessage[] => [
    { role: 'assistant', content: response, loss },
    { role: 'user', content: observation },
  ]);
  return [...opening.map(({ role, content }) => ({ role, content })), ...spliced];
}

/**
 * Puts a thought with its label before the thought of a reply, whatever its form: as revisions were recorded before forms were
 * distinguished.
 */
function labelFirst(reflection: string, response: string): string {
  const marker = /^\s*Thought:\s*/.exec(response)?.[0];
  return marker === undefined ? `Thought: ${reflection}\n${response}` : `${marker}${reflection} ${response.slice(marker.length)}`;
}

function turnOf(part: 'bad' | 'good', { stepId, response, message, observation }: SearchedStep, loss: boolean): RevisedTurn {
  return { part, stepId, response, ...(message ? { message } : {}), observation, loss };
}

function signalTurn(reflection: string): RevisedTurn {
  return { part: 'signal', stepId: null, response: `Thought: ${reflection}\nAction: wait`, observation: 'ok.', loss: true };
}

/**
 * How a reply is written: with labels (`Thought:`, `Action:`), as ReAct has it, or with tags (`<think>`, `<tool_call>`,
 * `<answer>`, …).
 */
type ReplyForm = 'labels' | 'tags';

const THOUGHT_LABEL = /^\s*Thought(?: ?\d+)?:[^\S\n]*/;
const ACTION_LABEL = /^\s*Action(?: ?\d+)?:/;
const TAG = /<\/?think>|<(?:tool_call|code|search|answer|action)>/;

/** Describes how a reply is written. One without any mark is a bare action, which only readers of labels take. */
export function replyFormOf(reply: string): ReplyForm {
  if (THOUGHT_LABEL.test(reply) || ACTION_LABEL.test(reply)) return 'labels';
  return TAG.test(reply) ? 'tags' : 'labels';
}

/**
 * Puts a reflection at the beginning of the thought of a reply, in the reply's own form, so that it stays as well formed as it
 * was and says the same action: behind the label `Thought:`; within `<think>`; at the very beginning where the prompt has opened
 * the thought (`…</think>`) or where a call has none before it, since text before a call is its thought; and as a thought with a
 * label before an action that has none.
 */
export function beginThought(reflection: string, reply: string): string {
  if (replyFormOf(reply) === 'labels') {
    const label = THOUGHT_LABEL.exec(reply)?.[0];
    if (label === undefined) return `Thought: ${reflection}\n${reply}`;
    const rest = reply.slice(label.length);
    const thought = rest.trimStart();
    if (ACTION_LABEL.test(thought) || thought === '') return `${label.trimEnd()} ${reflection}\n${thought}`;
    return `${label}${rest.slice(0, rest.length - thought.length)}${reflection} ${thought}`;
  }
  const [opening, closing] = [reply.indexOf('<think>'), reply.indexOf('</think>')];
  if (opening >= 0 && (closing < 0 || opening < closing)) return within(reflection, reply, opening + '<think>'.length);
  if (closing >= 0) return within(reflection, reply, 0);
  return `${reflection}\n${reply}`;
}

function within(reflection: string, reply: string, at: number): string {
  const rest = reply.slice(at);
  const thought = rest.trimStart();
  const blank = rest.slice(0, rest.length - thought.length);
  if (thought.startsWith('</think>')) return `${reply.slice(0, at)}${reflection}${thought}`;
  return `${reply.slice(0, at)}${blank}${reflection} ${thought}`;
}
