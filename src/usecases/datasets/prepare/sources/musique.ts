import { z } from 'zod';
import { answerText, parseShape, type Recipe, said, whole, words } from '../recipe.ts';
import { MULTIHOP_INSTRUCTION } from './supporting-facts.ts';

const shape = z.looseObject({
  id: said,
  question: said,
  answer: answerText,
  answer_aliases: z.array(words).nullish(),
  answerable: z.boolean().nullish(),
  paragraphs: z.array(z.looseObject({ idx: whole, title: words, is_supporting: z.boolean().nullish() })).nullish(),
});

const passages = z.looseObject({
  id: said,
  paragraphs: z.array(z.looseObject({ title: words, paragraph_text: words })).nullish(),
});

/**
 * MuSiQue: JSON lines, or Parquet of the same shape. Its full version holds questions that cannot be answered from their
 * paragraphs; they are left out, as by the configuration `answerable`. The answer and its aliases count as right.
 */
export const musique: Recipe = {
  name: 'musique',
  dataSource: 'bdsaglam/musique',
  ability: 'multihop_qa',
  groundTruth: 'texts',
  columns: ['id', 'question', 'answer', 'answer_aliases', 'answerable', 'paragraphs'],
  info: ['type', 'supporting_facts'],
  prefix: 'Question: ',
  instruction: MULTIHOP_INSTRUCTION,
  passages: {
    columns: ['id', 'paragraphs'],
    parse: (row) =>
      parseShape(passages, row, ({ id, paragraphs }) => ({
        kind: 'passages' as const,
        id,
        passages: (paragraphs ?? []).map(({ title, paragraph_text }) => ({ title, text: paragraph_text })),
      })),
  },
  parse: (row) =>
    parseShape(shape, row, ({ id, question, answer, answer_aliases, answerable, paragraphs }) => {
      if (answerable === false) return { kind: 'unanswerable' };
      if (!answer) return { kind: 'without-answer' };
      const aliases = (answer_aliases ?? []).filter((alias) => alias.trim() !== '' && alias !== answer);
      const facts = (paragraphs ?? []).filter((each) => each.is_supporting === true);
      const info = {
        type: id.includes('__') ? (id.split('__')[0] ?? null) : null, // "3hop1__…": how many hops, and in which form
        supporting_facts: facts.length === 0 ? null : JSON.stringify(facts.map(({ title, idx }) => [title, idx])),
      };
      return { kind: 'question', question: { id, question, answers: [answer, ...new Set(aliases)], answer, info } };
    }),
};
