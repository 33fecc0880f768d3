import type { PromptInput } from './prompt-template.ts';

/** What a wording shows of the past. */
export type ShownHistory =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'image'; readonly count: number }
  | { readonly kind: 'text'; readonly count: number; readonly text: string };

/** What a wording fills its slots from. */
export interface Slots extends Pick<PromptInput, 'task' | 'observation' | 'admissibleActions' | 'steps'> {
  /** Steps taken so far; the agent is now at step `taken + 1`. */
  readonly taken: number;
  readonly shown: ShownHistory;
}

/** Writes the text of one prompt, without the request for a compression factor. */
export type Wording = (slots: Slots) => string;

/** Joins paragraphs, without those that have nothing to say. */
export function paragraphs(...parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null && part !== '').join('\n\n');
}

/** Words how many steps were taken and where the shown ones are; `what` names what is shown of each. Null at the first step. */
function wordPast({ taken, shown }: Slots, what: string): string | null {
  if (taken === 0) return null;
  const steps = `You have taken ${taken} ${taken === 1 ? 'step' : 'steps'} so far.`;
  switch (shown.kind) {
    case 'nothing':
      return steps;
    case 'image':
      return `${steps} The image above shows ${lastOf(shown.count)}: ${what}.`;
    case 'text':
      return `${steps} Below ${shown.count === 1 ? 'stands' : 'stand'} ${lastOf(shown.count)}: ${what}.\n${shown.text.trimEnd()}`;
    default:
      return shown satisfies never;
  }
}

/** Words what the agent sees now and, once it has taken one, at which step it is. */
function wordNow({ taken, observation }: Slots): string {
  return taken === 0 ? `What you see now:\n${observation}` : `You are at step ${taken + 1}. What you see now:\n${observation}`;
}

/** Names the task, unless the opening that is shown does so itself. */
function wordTask({ taken, task, observation }: Slots): string | null {
  return taken === 0 && observation.includes(task) ? null : `Your task: ${task}`;
}

/** Lists what the agent can do, where the world says so. */
function wordActions({ admissibleActions }: Slots): string | null {
  return admissibleActions === null ? null : `What you can do now:\n${listActions(admissibleActions)}`;
}

/** Writes actions as quoted strings, one a line, without `help`, which changes nothing (specification of AgentOCR, §4.1). */
function listActions(actions: readonly string[]): string {
  return `[${actions
    .filter((action) => action !== 'help')
    .map((action) => `'${action}'`)
    .join('\n ')}]`;
}

function lastOf(count: number): string {
  return count === 1 ? 'the last one' : `the last ${count}, from the oldest on`;
}

/** Words a step in ALFWorld. Its opening holds room and goal; later steps name the task again. */
export function wordAlfworld(slots: Slots): string {
  return paragraphs(
    'You act in a household that is simulated in text (ALFRED in TextWorld), and carry out the task you are given.',
    wordTask(slots),
    wordPast(slots, 'what you saw each time, and what you then did'),
    wordNow(slots),
    wordActions(slots),
    'Take one step. First think it through, step by step, inside <think> </think>. Then choose one action that you can do now and write it, as it is listed, inside <action> </action>.',
  );
}

/**
 * Words a step of answering a question by searching. There is no current observation: the newest result is in the history.
 */
export function wordSearchQa(slots: Slots): string {
  return paragraphs(
    'You answer a question, and may look things up step by step with a search engine before you do.',
    `The question: ${slots.task}`,
    wordPast(slots, 'your searches inside <search> </search>, and what they found inside <information> </information>'),
    `Think first, inside <think> </think>. Then do exactly one of two things:
- if you need to know more, search: write what to look up inside <search> </search>;
- if you know enough, answer: write the answer, short and without explanation, inside <answer> </answer>.`,
  );
}

/**
 * Words a step in TextCraft. Its opening lists the commands that the whole task needs, so it is written out whenever the shown
 * history has lost it. The answer's form is the one that TextCraft's clients read (`Thought:`, `Action:`), so that every policy
 * can be asked this way.
 */
export function wordTextcraft(slots: Slots): string {
  return paragraphs(
    'You make things by crafting, and have reached your goal when you have crafted the goal item. You may give three commands: "get <number> <item>" takes a raw item, one that no command makes; "craft <number> <item> using <number> <ingredient>, <number> <ingredient>" makes one batch as the list of commands has it; "inventory" shows what you carry. Where a command names a kind of thing, such as "planks", write the item of that kind that you carry.',
    wordTask(slots),
    wordLostOpening(slots),
    wordPast(slots, 'what you saw each time, and the command you then gave'),
    wordNow(slots),
    wordActions(slots),
    'Answer with one thought and one command:\nThought: what you have, what is missing, and what to do next\nAction: the command',
  );
}

function wordLostOpening({ steps, taken, shown }: Slots): string | null {
  const opening = steps[0]?.observation;
  const count = shown.kind === 'nothing' ? 0 : shown.count;
  return opening !== undefined && count < taken ? `What you were told at the start:\n${opening}` : null;
}

/** Words a step in WebShop. Every page repeats what is to be bought, so that the task is named again only where it is not. */
export function wordWebshop(slots: Slots): string {
  return paragraphs(
    'You shop in an online store: find the product that the instruction describes, with its options and within its price, and buy it. "search[words]" looks for products; "click[text]" presses a button, a product or an option that the page shows. Choose every option that is asked for before you click[buy now].',
    slots.observation.includes(slots.task) ? null : wordTask(slots),
    wordPast(slots, 'the page you saw each time, and what you then did'),
    wordNow(slots),
    wordActions(slots),
    'Take one step. First think it through, step by step, inside <think> </think>. Then choose one action and write it inside <action> </action>.',
  );
}
