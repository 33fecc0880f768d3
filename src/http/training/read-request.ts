import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { cutText } from '../../domain/text/cut-text.ts';
import type { Share } from '../ingest/body-budget.ts';
import { mediaOf } from '../ingest/parse-body.ts';
import { readBody } from '../ingest/read-body.ts';
import { type Problem, type Reply, refuse } from '../reply.ts';

const BODY_BYTES = 1_048_576; // an acknowledgement with a thousand metrics is 50 KB

export type Asked<T> =
  | { readonly kind: 'asked'; readonly request: T }
  | { readonly kind: 'refused'; readonly reply: Reply }
  | { readonly kind: 'gone' };

/** Reads a request's body as JSON of a schema. Every field that is wrong is named with its rule. */
export async function readRequest<T extends z.ZodType>(
  req: IncomingMessage,
  schema: T,
  share: Share,
): Promise<Asked<z.infer<T>>> {
  if (mediaOf(req.headers) !== 'json')
    return refused(415, 'the body is not application/json in UTF-8', 'send a JSON object with that Content-Type');
  const body = await readBody(req, BODY_BYTES, share);
  if (body.kind !== 'body') return body;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body.bytes));
  } catch (error) {
    // By its field: an error of the parser may come from another realm.
    const why = typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : 'not JSON';
    return refused(400, `the body is no JSON: ${cutText(why, 200)}`, 'send one JSON object');
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return { kind: 'asked', request: parsed.data };
  const problems = parsed.error.issues.map(
    (issue): Problem => ({ index: 0, path: issue.path.join('.'), message: issue.message }),
  );
  const [first] = problems;
  const reply = refuse(
    400,
    `${first?.path || 'the body'}: ${first?.message ?? 'is not valid'}`,
    'correct the fields named and send again',
    {
      problems,
    },
  );
  return { kind: 'refused', reply };
}

function refused(status: number, message: string, remedy: string): { readonly kind: 'refused'; readonly reply: Reply } {
  return { kind: 'refused', reply: refuse(status, message, remedy) };
}
