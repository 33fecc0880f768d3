import { z } from 'zod';
import type { Mount, NodeListener, Operation } from './endpoint.ts';
import { refusals } from './openapi.ts';

const NAMED = z.object({
  query: z.string().optional().describe('The document.'),
  documentId: z.string().optional().describe('Name or SHA-256 of an operation that the server ships, in place of `query`.'),
  operationName: z.string().nullish().describe('Which operation of the document, where it has several.'),
});
const asked = NAMED.extend({
  variables: z.record(z.string(), z.unknown()).nullish(),
  extensions: z.record(z.string(), z.unknown()).nullish(),
});
const inAddress = NAMED.extend({
  variables: z.string().optional().describe('A JSON object.'),
  extensions: z.string().optional().describe('A JSON object.'),
});

const result = z.object({
  data: z.record(z.string(), z.unknown()).nullish(),
  errors: z.array(z.looseObject({ message: z.string() })).optional(),
});
const NAMED_RESULT = { $ref: '#/components/schemas/GraphqlResult' };
const RESULT = { 'application/json': NAMED_RESULT, 'application/graphql-response+json': NAMED_RESULT };
const OPERATION: Operation = {
  summary: 'Queries and follows the record: runs, trees, steps, rewards. A browser shows a page to try queries.',
  description:
    'GraphQL over HTTP; the schema has documentation of its own. A subscription is asked for with `Accept: text/event-stream`, and its events are named `next` and `complete`.',
  headers: z.looseObject({
    accept: z
      .string()
      .optional()
      .describe('`application/json` unless given, `application/graphql-response+json`, or `text/event-stream`.'),
  }),
  answers: {
    200: { description: 'Data, errors or both.', content: { ...RESULT, 'text/event-stream': { type: 'string' } } },
    400: { description: 'The operation is not read or not valid, or over a limit.', content: RESULT },
    406: { description: 'The answer comes in none of the types of Accept.', content: RESULT },
    415: { description: 'Another Content-Type.', content: RESULT },
    ...refusals({
      411: 'The body has no Content-Length.',
      413: 'The body is over 1 MiB.',
    }),
  },
  components: () => ({ GraphqlResult: result }),
};

/** Mounts the listener that answers everything at `/graphql`. */
export function graphqlMount(listener: NodeListener): Mount {
  const page = {
    description: 'Data, errors or both; the page where a browser asks.',
    content: { ...OPERATION.answers[200]?.content, 'text/html': { type: 'string' } },
  };
  return {
    path: '/graphql',
    needs: ['read'],
    listener,
    operations: {
      GET: { ...OPERATION, query: inAddress, answers: { ...OPERATION.answers, 200: page } },
      POST: { ...OPERATION, body: { content: { 'application/json': asked } } },
    },
  };
}
