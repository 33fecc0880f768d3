import { z } from 'zod';
import { jsonText, type Passage, parseShape, type QuestionPassages, type RowReader, said, whole, words } from '../recipe.ts';

const pairs = z.array(z.tuple([words, whole]));
const columns = z
  .looseObject({ title: z.array(words), sent_id: z.array(whole) })
  .transform(({ title, sent_id }) => title.map((each, i) => [each, sent_id[i] ?? 0] as const));

/**
 * Supporting facts, as JSON text of `[[title, sentence], …]`: the original files have these pairs, the Parquet files of HotpotQA
 * two columns (`title`, `sent_id`), those of 2WikiMultihopQA the pairs as a JSON text. Null where there are none.
 */
export const supportingFacts = z
  .union([pairs, columns, jsonText(pairs, '[title, sentence] pairs')])
  .nullish()
  .transform((facts) => (facts ? JSON.stringify(facts) : null));

/** What is asked of a model that answers questions over several documents: Agent-R1's tags, which its scorers read. */
export const MULTIHOP_INSTRUCTION =
  'Think first, between <think> and </think>. You may use the tools you are given. Then give the final answer between <answer> and </answer>, short and without explanation.';

const paragraphs = z.array(z.tuple([words, z.array(words)]));
const contextColumns = z
  .looseObject({ title: z.array(words), sentences: z.array(z.array(words)) })
  .transform(({ title, sentences }) => title.map((each, i): [string, string[]] => [each, sentences[i] ?? []]));
/** Paragraphs as `[[title, [sentence, …]], …]`, as two contextColumns of them, or as JSON text of the pairs. */
const context = z.union([paragraphs, contextColumns, jsonText(paragraphs, '[title, [sentence, …]] pairs')]).nullish();
const shape = z.looseObject({ _id: said.optional(), id: said.optional(), context });

/** Reads the column `context` of HotpotQA and 2WikiMultihopQA. */
export const contextPassages: RowReader<QuestionPassages> = {
  columns: ['_id', 'id', 'context'],
  parse: (row) =>
    parseShape(shape, row, ({ _id, id = _id, context: given }) => ({
      kind: 'passages' as const,
      id: id ?? '',
      passages: (given ?? []).map(
        ([title, sentences]): Passage => ({
          title,
          text: sentences
            .map((sentence) => sentence.trim())
            .join(' ')
            .trim(),
        }),
      ),
    })),
};
