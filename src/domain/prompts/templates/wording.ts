import type { PromptInput } from '../prompt-template.ts';

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
export function wordPast({ taken, shown }: Slots, what: string): string | null {
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
export function wordNow({ taken, observation }: Slots): string {
  return taken === 0 ? `What you see now:\n${observation}` : `You are at step ${taken + 1}. What you see now:\n${observation}`;
}

/** Names the task, unless the opening that is shown does so itself. */
export function wordTask({ taken, task, observation }: Slots): string | null {
  return taken === 0 && observation.includes(task) ? null : `Your task: ${task}`;
}

/** Lists what the agent can do, where the world says so. */
export function wordActions({ admissibleActions }: Slots): string | null {
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
