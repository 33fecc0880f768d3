import { paragraphs, type Slots, wordPast } from './wording.ts';

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
