import { z } from 'zod';
import { answerText, parseShape, type Recipe, said, words } from '../recipe.ts';
import { contextPassages, MULTIHOP_INSTRUCTION, supportingFacts } from './supporting-facts.ts';

const shape = z.looseObject({
  _id: said.optional(),
  id: said.optional(),
  question: said,
  answer: answerText,
  type: words.nullish(),
  supporting_facts: supportingFacts,
});

/**
 * 2WikiMultihopQA: one JSON array, or its Parquet files, where nested fields are JSON texts. Its test file keeps the answers
 * back.
 */
export const twoWiki: Recipe = {
  name: '2wiki',
  dataSource: 'xanhho/2WikiMultihopQA',
  ability: 'multihop_qa',
  groundTruth: 'text',
  columns: ['_id', 'id', 'question', 'answer', 'type', 'supporting_facts'],
  info: ['type', 'supporting_facts'],
  prefix: 'Question: ',
  instruction: MULTIHOP_INSTRUCTION,
  passages: contextPassages,
  parse: (row) =>
    parseShape(shape, row, ({ _id, id = _id, question, answer, type, supporting_facts }) => {
      if (id === undefined) return { kind: 'bad', field: '_id', problem: 'is missing' };
      if (!answer) return { kind: 'without-answer' };
      return {
        kind: 'question',
        question: { id, question, answers: [answer], answer, info: { type: type ?? null, supporting_facts } },
      };
    }),
};
