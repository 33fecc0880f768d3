import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Principal } from '../postgres/principal.ts';
import type { Needs } from './authorize.ts';
import type { Gate } from './ingest/gate.ts';
import type { BodyBudget } from './receive-bodies.ts';
import type { Reply } from './reply.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;
export type Schema = z.ZodType | JsonSchema;
/** Schemas by media type. */
export type Content = Readonly<Record<string, Schema>>;

export interface AnswerSchema {
  readonly description: string;
  /** None for an answer without a body. */
  readonly content?: Content;
  /** What the header of each name says. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the OpenAPI document says of one method of one path, besides what the server answers everywhere. */
export interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly query?: z.ZodType;
  /** Request headers that change the answer. */
  readonly headers?: z.ZodType;
  readonly body?: { readonly content: Content };
  readonly answers: Readonly<Record<number, AnswerSchema>>;
  /** Returns the schemas that the others name as `#/components/schemas/NAME`; asked when the document is. */
  readonly components?: () => Readonly<Record<string, Schema>>;
}

export interface EndpointRequest<P, Q, B> {
  readonly req: IncomingMessage;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly principal: Principal;
}

/**
 * One method of one path: everything that is known of it. `path` names its parameters in braces, as `/images/{id}.png`; a path
 * whose parameters do not fit their patterns is not there. `handle` returns undefined when the client went away meanwhile.
 */
export interface Endpoint<P = unknown, Q = unknown, B = unknown> extends Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly needs: Needs;
  readonly params?: z.ZodType<P>;
  readonly query?: z.ZodType<Q>;
  readonly body?: BodyRule<B>;
  /** Writes refusals, those before its handler too, in the form of a protocol; as JSON unless given. */
  readonly refusal?: (refused: Reply, headers: IncomingHttpHeaders) => Reply;
  readonly handle: (request: EndpointRequest<P, Q, B>) => Promise<Reply | undefined>;
}

/** How the bodies of an endpoint are read. */
export interface BodyRule<B> {
  readonly content: Content;
  /** Bytes of one body, decompressed. */
  readonly limit: number;
  /** Bounds the bodies of all requests together, by the same rule or another; they count until their request is answered. */
  readonly budget: BodyBudget;
  /** Bounds the requests whose bodies have arrived; `full` answers one too many. */
  readonly gate: Gate;
  readonly full: Reply;
  /** Refuses a request by its headers, before its body is read. */
  readonly refuse?: (headers: IncomingHttpHeaders) => Reply | undefined;
  readonly parse: (bytes: Buffer, headers: IncomingHttpHeaders) => Parsed<B>;
}
export type Parsed<B> = { readonly kind: 'parsed'; readonly value: B } | { readonly kind: 'refused'; readonly reply: Reply };

/** A node listener that writes its own answer, as graphql-yoga's, and is handed who asks. */
export type NodeListener = (req: IncomingMessage, res: ServerResponse, context: { readonly principal: Principal }) => unknown;

/** A path whose methods all go to a node listener. Nothing lies below the path: no listener has to read `..` in it. */
export interface Mount {
  readonly path: string;
  readonly needs: Needs;
  readonly operations: Readonly<Partial<Record<'GET' | 'POST', Operation>>>;
  readonly listener: NodeListener;
}
export type Route = Endpoint | Mount;

/** Returns an endpoint whose handler gets what its schemas parse. */
export function endpoint<P = unknown, Q = unknown, B = undefined>(given: Endpoint<P, Q, B>): Endpoint {
  // the server passes `handle` what `params`, `query` and `body` of the same endpoint returned
  return given as unknown as Endpoint;
}
