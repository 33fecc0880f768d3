import swagger from '@fastify/swagger';
import type { FastifyInstance, FastifySchema } from 'fastify';
import { z } from 'zod';
import type { Needs } from './authorize.ts';
import { type AnswerSchema, type Endpoint, endpoint, type JsonSchema, type Operation, type Schema } from './endpoint.ts';
import { json, type Reply, refusal } from './reply.ts';

/** A method of a path as it is described: an endpoint, or what a mount answers by itself. */
export type Described = Operation & Pick<Endpoint, 'method' | 'path' | 'needs' | 'params'>;

const INFO = {
  title: 'Espalier',
  version: '1',
  description:
    'An event-sourced record of language agents that act and learn: events in, queries, images and training batches out.',
};

/** Describes every route that is added from now on with a `described` in its configuration. */
export async function addOpenApi(app: FastifyInstance): Promise<() => object> {
  const schemas: Record<string, JsonSchema> = { Refusal: jsonSchemaOf(refusal) };
  await app.register(swagger, {
    openapi: { openapi: '3.1.0', info: INFO, components: { securitySchemes } },
    convertConstToEnum: false,
    transform: ({ route, url }) => {
      const described = route.config?.described;
      for (const [name, schema] of Object.entries(described?.components?.() ?? {})) schemas[name] = jsonSchemaOf(schema);
      return { url, schema: described ? schemaOf(described) : { hide: true } };
    },
  });
  return () => ({ ...app.swagger(), components: { securitySchemes, schemas } });
}

/** Returns the endpoint that shows the document. */
export function documentEndpoint(document: () => object): Endpoint {
  let reply: Reply | undefined; // made for whoever asks first: every route is known then
  return endpoint({
    method: 'GET',
    path: '/openapi.json',
    needs: 'any-key',
    summary: 'Describes every endpoint of the server, as OpenAPI 3.1.',
    answers: { 200: { description: 'This document.', content: { 'application/json': { type: 'object' } } } },
    async handle() {
      reply ??= json(200, document());
      return reply;
    },
  });
}

const securitySchemes = {
  key: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An API key (`espalier keys create`) with one of the scopes named, or `admin`, which opens everything. A server on a loopback address takes the token of its installation as well (`espalier token`), which opens everything.',
  },
} as const;

/** Answers every refusal with the same body. */
export function refusals(of: Readonly<Record<number, string>>): Readonly<Record<number, AnswerSchema>> {
  const answers = Object.entries(of).map(([status, description]) => [status, { description, content: REFUSAL }]);
  return Object.fromEntries(answers);
}
const REFUSAL = { 'application/json': { $ref: '#/components/schemas/Refusal' } };

/** What the server answers on any path, before or after its endpoint. */
const EVERYWHERE: Readonly<Record<string, AnswerSchema>> = {
  401: { description: 'No API key and no token, or one that is unknown, expired or revoked.', content: REFUSAL },
  403: {
    description: 'The key lacks the scope or the project, or a page of another site asks on a loopback address.',
    content: REFUSAL,
  },
  default: {
    description:
      'Refused by the server: 400 no HTTP/1.1 request with a Host, 405 another method, 408 headers within 10 s or the whole request within 60 s did not arrive, 421 a Host that the server does not answer to, 429 too many requests of one key or of one connection, 431 headers over 16 KiB, 500 a fault of the server, 503 database, log or disk do not answer.',
    content: REFUSAL,
  },
};

/** The operation in the terms of @fastify/swagger. */
function schemaOf({ method, path, needs, ...operation }: Described): FastifySchema {
  const { summary, description, params, query, headers, body, answers } = operation;
  const response = Object.entries<AnswerSchema>({ ...EVERYWHERE, ...answers }).map(([status, answer]) => [
    status,
    responseOf(answer),
  ]);
  return {
    operationId: [method.toLowerCase(), ...path.split(/[^A-Za-z0-9]+/).filter((part) => part !== '')].join('_'),
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityOf(needs),
    ...(params ? { params: jsonSchemaOf(params) } : {}),
    ...(query ? { querystring: jsonSchemaOf(query) } : {}),
    ...(headers ? { headers: jsonSchemaOf(headers) } : {}),
    ...(body ? { body: { content: contentOf(body.content) } } : {}),
    response: Object.fromEntries(response),
  } as FastifySchema;
}

function securityOf(needs: Needs) {
  if (needs === 'nothing') return [];
  return needs === 'any-key' ? [{ key: [] }] : [...needs, 'admin'].map((scope) => ({ key: [scope] }));
}

function responseOf({ description, content, headers }: AnswerSchema): JsonSchema {
  const named = headers ? { headers: headersOf(headers) } : {};
  return content ? { description, content: contentOf(content), ...named } : { description, type: 'null', ...named };
}

function headersOf(headers: Readonly<Record<string, string>>): JsonSchema {
  return Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, { type: 'string', description }]));
}

function contentOf(content: Readonly<Record<string, Schema>>): JsonSchema {
  return Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema: jsonSchemaOf(schema) }]));
}

function jsonSchemaOf(schema: Schema): JsonSchema {
  if (!(schema instanceof z.ZodType)) return schema;
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return rest;
}
