import { z } from 'zod';
import { cutText } from '../../domain/text/cut-text.ts';
import { type RetrievedDocument, SearchFailure } from './retriever.ts';

/**
 * Which form of `POST /retrieve` a server understands: `query` takes one query at a time (AgentOCR and verl-agent's server),
 * `queries` a list (Search-R1's own). Both answer `{"result": [[…], …]}`, one inner list for each query.
 */
export type RetrieveDialect = 'query' | 'queries';

/** Writes the bodies of the requests that ask for these queries, and returns how many inner lists each is owed. */
export function writeRequests(
  queries: readonly string[],
  topK: number,
  dialect: RetrieveDialect,
): readonly { readonly body: string; readonly lists: number }[] {
  const rest = { topk: topK, return_scores: true };
  if (dialect === 'queries') return [{ body: JSON.stringify({ queries, ...rest }), lists: queries.length }];
  return queries.map((query) => ({ body: JSON.stringify({ query, ...rest }), lists: 1 }));
}

const documentSchema = z.looseObject({ id: z.union([z.string(), z.number()]).optional(), contents: z.string() });
const hitSchema = z.union([
  z
    .object({ document: documentSchema, score: z.number().nullable().optional() })
    .transform(({ document, score }) => ({ document, score })),
  documentSchema.transform((document) => ({ document, score: null })), // what comes when scores are not asked for, or not known
]);
const answerSchema = z.object({ result: z.array(z.array(hitSchema)) });

/**
 * Reads an answer. A document without an id is named by its contents. More documents than were asked for are cut off.
 * @param lists how many inner lists must be there. @throws SearchFailure `protocol`.
 */
export function readAnswer(body: string, lists: number, topK: number): readonly (readonly RetrievedDocument[])[] {
  const { result } = parse(body);
  if (result.length !== lists)
    throw new SearchFailure('protocol', `${lists} queries were answered with ${result.length} lists of documents`);
  return result.map((hits) =>
    hits.slice(0, topK).map(({ document, score }) => ({
      id: String(document.id ?? document.contents),
      contents: document.contents,
      score: score ?? null,
    })),
  );
}

function parse(body: string): z.output<typeof answerSchema> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (cause) {
    throw new SearchFailure('protocol', `the answer is no JSON but ${abridge(body)}`, { cause });
  }
  const parsed = answerSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new SearchFailure(
    'protocol',
    `the answer is not {"result": [[{"document": {"id", "contents"}, "score"}]]} but ${abridge(body)}`,
  );
}

/** Shortens what a server said to what a message can hold. */
export function abridge(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= 200 ? line || 'nothing' : `${cutText(line, 200)}…`;
}
