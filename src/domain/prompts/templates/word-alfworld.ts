import { paragraphs, type Slots, tellActions, tellNow, tellPast, tellTask } from './wording.ts';

/** Words a step in ALFWorld. Its opening holds room and goal; later steps name the task again. */
export function wordAlfworld(slots: Slots): string {
  return paragraphs(
    'You act in a household that is simulated in text (ALFRED in TextWorld), and carry out the task you are given.',
    tellTask(slots),
    tellPast(slots, 'what you saw each time, and what you then did'),
    tellNow(slots),
    tellActions(slots),
    'Take one step. First think it through, step by step, inside <think> </think>. Then choose one action that you can do now and write it, as it is listed, inside <action> </action>.',
  );
}
