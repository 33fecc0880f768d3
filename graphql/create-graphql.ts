import { createYoga, type YogaServerInstance } from 'graphql-yoga';
import { projections as registered } from '../src/projections/registry.ts';
import { type Logger, SILENT } from '../src/runtime/logger.ts';
import { isTracing } from '../src/runtime/tracing.ts';
import { useMoments } from './as-of/use-moments.ts';
import { type Context, createContext, type ServerContext, type Sources } from './context.ts';
import { graphiqlOptions, renderPage } from './graphiql.ts';
import { Gate } from './limits/gate.ts';
import { LIMITS, type Limits } from './limits/limits.ts';
import { useLimits } from './limits/use-limits.ts';
import { useQueryLimits } from './limits/use-query-limits.ts';
import { createMaskError } from './mask-error.ts';
import { readOperations, useShippedOperations } from './persisted-operations.ts';
import { createExecutableSchema } from './schema.ts';
import { useCompressedPage } from './use-compressed-page.ts';
import { useJsonMutations } from './use-json-mutations.ts';
import { useReadableRequest } from './use-readable-request.ts';
import { useTracing } from './use-tracing.ts';

export interface GraphqlOptions extends Omit<Sources, 'projections' | 'tails'> {
  readonly tails?: Sources['tails'];
  readonly projections?: Sources['projections'];
  readonly logger?: Logger;
  readonly limits?: Partial<Limits>;
  /** The turns of callers, where others share them. */
  readonly gate?: Gate;
  /** 'persisted-only' answers nothing but the operations of `operations/`. */
  readonly documents?: 'any' | 'persisted-only';
  /** The path that the server mounts this at. */
  readonly endpoint?: string;
}

const BODY_LIMIT = 1_000_000; // bytes of a request: a document and its variables

/**
 * Makes the GraphQL API as a handler of fetch requests: `handler.fetch(request, { principal })`, or by itself a node request
 * listener. It opens nothing and needs no closing: what it reads from belongs to the caller.
 */
export async function createGraphql(options: GraphqlOptions): Promise<YogaServerInstance<ServerContext, Context>> {
  const { db, log, blobs, notices, snapshots, projections = registered, logger = SILENT } = options;
  const { annotate, requeue, tokenizers } = options;
  const written = { ...(annotate ? { annotate } : {}), ...(requeue ? { requeue } : {}), ...(tokenizers ? { tokenizers } : {}) };
  const sources: Sources = { db, tails: options.tails ?? db, log, blobs, notices, snapshots, projections, ...written };
  const limits = { ...LIMITS, ...options.limits };
  const gate = options.gate ?? new Gate();
  const operations = await readOperations();
  return createYoga<ServerContext, Context>({
    schema: await createExecutableSchema(),
    context: ({ request: { signal }, ...given }) => createContext(sources, limits, gate, { ...given, signal }) as Context, // yoga adds the server's context to it
    graphqlEndpoint: options.endpoint ?? '/graphql',
    landingPage: false,
    multipart: false, // nothing is uploaded
    cors: false, // the server that mounts it decides
    batching: false,
    logging: false, // faults are logged once, by maskError
    maxRequestBodySize: BODY_LIMIT,
    maskedErrors: { maskError: createMaskError(logger) },
    graphiql: graphiqlOptions(operations),
    renderGraphiQL: renderPage,
    extraParamNames: ['documentId'],
    plugins: [
      useReadableRequest(),
      useShippedOperations(operations, options.documents ?? 'any'),
      useLimits(limits),
      useJsonMutations(),
      useQueryLimits(),
      useMoments(),
      useCompressedPage(),
      ...(isTracing() ? [useTracing()] : []),
    ],
  });
}
