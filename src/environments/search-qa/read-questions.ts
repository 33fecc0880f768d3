import { z } from 'zod';
import { CorpusError } from '../retrieval/read-corpus.ts';
import { readItems } from '../retrieval/read-json-lines.ts';
import type { Question } from './question.ts';

const targetsSchema = z.union([z.string().transform((one) => [one]), z.array(z.string())]);
const lineSchema = z.looseObject({
  id: z.union([z.string().min(1), z.number()]).optional(),
  question: z.string().min(1),
  ground_truth: z.union([targetsSchema, z.looseObject({ target: targetsSchema }).transform(({ target }) => target)]).optional(),
  golden_answers: targetsSchema.optional(), // as FlashRAG's files, from which Search-R1's are made, call it
  answer: targetsSchema.optional(),
  data_source: z.string().optional(),
  split: z.string().optional(),
});

/**
 * Reads questions from a .jsonl file, one a line: `question`, the accepted answers (`ground_truth` as a text, a list or
 * `{"target": …}`, or `golden_answers`, or `answer`), and where there are `id` (or else the line's number is the alias),
 * `data_source`, `split`. Fields of any other name are passed over. @throws CorpusError that names file and line.
 */
export async function readQuestions(file: string): Promise<Question[]> {
  return readItems(file, { shape: lineSchema, what: 'question', Failed: CorpusError, itemOf: questionOf });
}

function questionOf(data: z.output<typeof lineSchema>, alias: string): Question | string {
  const [first, ...others] = data.ground_truth ?? data.golden_answers ?? data.answer ?? [];
  if (first === undefined) return 'has no answer; give it as ground_truth, golden_answers or answer';
  return {
    alias,
    text: data.question,
    targets: [first, ...others],
    dataSource: data.data_source ?? 'unknown',
    split: data.split ?? null,
    hops: null,
    relationWords: null,
  };
}
