import { z } from 'zod';
import { answerText, parseShape, type Recipe, said, words } from '../recipe.ts';
import { contextPassages, MULTIHOP_INSTRUCTION, supportingFacts } from './supporting-facts.ts';

const shape = z.looseObject({
  _id: said.optional(),
  id: said.optional(), // as its Parquet files call it
  question: said,
  answer: answerText,
  type: words.nullish(),
  level: words.nullish(),
  supporting_facts: supportingFacts,
});

/**
 * HotpotQA: one JSON array (`_id`, pairs of supporting facts), or its Parquet files (`id`, two columns of them). Its test file
 * keeps the answers back.
 */
export const hotpotqa: Recipe = {
  name: 'hotpotqa',
  dataSource: 'hotpotqa/hotpot_qa',
  ability: 'multihop_qa',
  groundTruth: 'text',
  columns: ['_id', 'id', 'question', 'answer', 'type', 'level', 'supporting_facts'],
  info: ['type', 'level', 'supporting_facts'],
  prefix: 'Question: ',
  instruction: MULTIHOP_INSTRUCTION,
  passages: contextPassages,
  parse: (row) =>
    parseShape(shape, row, ({ _id, id = _id, question, answer, type, level, supporting_facts }) => {
      if (id === undefined) return { kind: 'bad', field: '_id', problem: 'is missing' };
      if (!answer) return { kind: 'without-answer' };
      const info = { type: type ?? null, level: level ?? null, supporting_facts };
      return { kind: 'question', question: { id, question, answers: [answer], answer, info } };
    }),
};
