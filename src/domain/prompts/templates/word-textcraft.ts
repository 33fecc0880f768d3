import { paragraphs, type Slots, wordActions, wordNow, wordPast, wordTask } from './wording.ts';

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
