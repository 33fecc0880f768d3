/** Explains to an agent without a prompt template how to play. */
export const INSTRUCTION = `You answer a question, and may search a collection of documents before you do. At each turn think first, and then do exactly one of two things:
- search: <search>what to look for</search>. You are shown the best documents between <information> and </information>.
- answer: <answer>the answer, short and without explanation</answer>. This ends the task.
You have few turns; the last one must be an answer.`;
