import { z } from 'zod';
import { jsonText, type Passage, parseShape, type QuestionPassages, type RowReader, said, words } from '../recipe.ts';

const paragraphs = z.array(z.tuple([words, z.array(words)]));
const columns = z
  .looseObject({ title: z.array(words), sentences: z.array(z.array(words)) })
  .transform(({ title, sentences }) => title.map((each, i): [string, string[]] => [each, sentences[i] ?? []]));
/** Paragraphs as `[[title, [sentence, …]], …]`, as two columns of them, or as JSON text of the pairs. */
const context = z.union([paragraphs, columns, jsonText(paragraphs, '[title, [sentence, …]] pairs')]).nullish();
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
