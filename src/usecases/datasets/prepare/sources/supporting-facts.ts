import { z } from 'zod';
import { whole, words } from '../recipe.ts';

const pairs = z.array(z.tuple([words, whole]));
const columns = z
  .looseObject({ title: z.array(words), sent_id: z.array(whole) })
  .transform(({ title, sent_id }) => title.map((each, i) => [each, sent_id[i] ?? 0] as const));

/**
 * Supporting facts, as JSON text of `[[title, sentence], …]`: the original files have these pairs, the Parquet files of HotpotQA
 * two columns (`title`, `sent_id`), those of 2WikiMultihopQA the pairs as a JSON text. Null where there are none.
 */
export const supportingFacts = z
  .union([pairs, columns, z.string().transform(parsePairs)])
  .nullish()
  .transform((facts) => (facts ? JSON.stringify(facts) : null));

function parsePairs(text: string, context: z.RefinementCtx): z.infer<typeof pairs> {
  try {
    const parsed = pairs.safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data;
  } catch {
    // said below: a text that is no JSON and one of another shape are the same mistake
  }
  context.addIssue({ code: 'custom', message: 'is no JSON text of [title, sentence] pairs' });
  return z.NEVER;
}
