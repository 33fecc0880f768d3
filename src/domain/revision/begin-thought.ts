/**
 * How a reply is written: with labels (`Thought:`, `Action:`), as ReAct has it, or with tags (`<think>`, `<tool_call>`,
 * `<answer>`, …).
 */
export type ReplyForm = 'labels' | 'tags';

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
