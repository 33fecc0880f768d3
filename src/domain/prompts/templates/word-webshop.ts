import { paragraphs, type Slots, wordActions, wordNow, wordPast, wordTask } from './wording.ts';

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
