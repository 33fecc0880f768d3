import { z } from 'zod';
import { answerText, parseShape, type Recipe, said } from '../recipe.ts';

const shape = z.looseObject({ question: said, answer: answerText });
const LAST_NUMBER = /#### *(-?[0-9][0-9.,]*)\s*$/;

/**
 * GSM8K: JSON lines or Parquet of `question` and `answer`, a derivation that ends in `#### number`. The ground truth is that
 * number without commas.
 */
export const gsm8k: Recipe = {
  name: 'gsm8k',
  dataSource: 'openai/gsm8k',
  ability: 'math',
  groundTruth: 'text',
  columns: ['question', 'answer'],
  info: [],
  prefix: '',
  instruction:
    'Think step by step, between <think> and </think>. Then give the final number between <answer> and </answer>, without units.',
  passages: null,
  parse: (row) =>
    parseShape(shape, row, ({ question, answer }) => {
      if (!answer) return { kind: 'without-answer' };
      const number = LAST_NUMBER.exec(answer)?.[1]?.replaceAll(',', '');
      if (number === undefined) return { kind: 'bad', field: 'answer', problem: 'does not end in "#### " and a number' };
      return { kind: 'question', question: { id: null, question, answers: [number], answer, info: {} } };
    }),
};
