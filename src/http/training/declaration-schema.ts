import { declarationSchema } from '../../usecases/train/declaration/declaration-schema.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { json, type Reply } from '../reply.ts';

/** Returns the endpoint that describes declarations, for editors and clients in other languages. */
export function declarationSchemaEndpoint(): Endpoint {
  let schema: Reply | undefined; // made for whoever asks first
  return endpoint({
    method: 'GET',
    path: '/v1/training/declaration.schema.json',
    needs: 'any-key',
    summary: 'The JSON Schema of a declaration, with what every field means.',
    answers: {
      200: { description: 'A JSON Schema, draft 2020-12.', content: { 'application/schema+json': { type: 'object' } } },
    },
    async handle() {
      schema ??= json(200, declarationSchema(), { 'content-type': 'application/schema+json; charset=utf-8' });
      return schema;
    },
  });
}
