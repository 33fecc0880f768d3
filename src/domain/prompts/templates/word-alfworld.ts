import { paragraphs, type Slots, wordActions, wordNow, wordPast, wordTask } from './wording.ts';

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
