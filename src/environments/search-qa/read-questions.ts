import { createReadStream } from 'node:fs';
import { z } from 'zod';
import { CorpusError } from '../retrieval/read-corpus.ts';
import { readLines } from '../retrieval/read-lines.ts';
import type { Question } from './question.ts';

const QUESTIONS = 1_000_000;

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
  const questions = new Map<string, Question>();
  const stream = createReadStream(file);
  try {
    for await (const { number, text } of readLines(
      stream,
      ({ number, problem }) => new CorpusError(`${file}:${number}: ${problem}`),
    )) {
      const question = questionOf(text, number, `${file}:${number}`);
      if (questions.has(question.alias))
        throw new CorpusError(`${file}:${number}: the id ${JSON.stringify(question.alias)} came before`);
      if (questions.size === QUESTIONS) throw new CorpusError(`${file}:${number}: there are more than ${QUESTIONS} questions`);
      questions.set(question.alias, question);
    }
  } catch (cause) {
    if (cause instanceof CorpusError) throw cause;
    throw new CorpusError(`${file}: cannot be read (${(cause as NodeJS.ErrnoException).code ?? String(cause)})`, { cause });
  }
  if (questions.size === 0) throw new CorpusError(`${file}: holds no question`);
  return [...questions.values()];
}

function questionOf(line: string, number: number, place: string): Question {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    // JSON.parse throws nothing but SyntaxError
    throw new CorpusError(`${place}: is no JSON (${(cause as Error).message})`, { cause });
  }
  const parsed = lineSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new CorpusError(`${place}: is no question: ${issue?.path.join('.') || 'the line'}: ${issue?.message}`);
  }
  const { data } = parsed;
  const [first, ...others] = data.ground_truth ?? data.golden_answers ?? data.answer ?? [];
  if (first === undefined) throw new CorpusError(`${place}: has no answer; give it as ground_truth, golden_answers or answer`);
  return {
    alias: String(data.id ?? number),
    text: data.question,
    targets: [first, ...others],
    dataSource: data.data_source ?? 'unknown',
    split: data.split ?? null,
    hops: null,
    relationWords: null,
  };
}
