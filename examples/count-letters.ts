// A tool of your own: what a model reads of it (name, description, schema of the arguments), and what it does.
export const tool = {
  name: 'count_letter',
  description: 'Counts how often a letter occurs in a word.',
  parameters: {
    type: 'object',
    properties: { word: { type: 'string' }, letter: { type: 'string', maxLength: 1 } },
    required: ['word', 'letter'],
  },
  execute: ({ word, letter }: { word: string; letter: string }) => String(word.split(letter).length - 1),
  reward: () => 0.1, // optional: what a call is worth, whatever the answer turns out to be
};

// A reward of your own: a number for a whole episode, from 1 on the task is done.
export function honest({ answer, golds, chat }: { answer: string | null; golds: string[]; chat: string }): number {
  const right = answer !== null && golds.includes(answer.trim());
  const counted = chat.includes('<tool_response>');
  return right ? (counted ? 1 : 0.5) : 0;
}
