import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import type { Retriever } from '../environments/retrieval/retriever.ts';

/**
 * A stand-in for Search-R1's retrieval server: HTTP on loopback, `POST /retrieve` in both dialects, with any retriever behind it,
 * answering what FastAPI answers (404, 405, 422 and their bodies). It fails on demand.
 */
export interface RetrieveServer {
  readonly url: string;
  /** The bodies of all requests, in order of arrival. */
  readonly requests: readonly unknown[];
  /** Makes the next requests fail in these ways, one each. */
  fail(...faults: readonly RetrieveFault[]): void;
  close(): Promise<void>;
}

export type RetrieveFault =
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly kind: 'body'; readonly body: string }
  | { readonly kind: 'silent' }
  | { readonly kind: 'cut' };

const rest = { topk: z.number().int().nullish(), return_scores: z.boolean().default(false) };
const inputSchema = {
  query: z.object({ query: z.string(), ...rest }),
  queries: z.object({ queries: z.array(z.string()), ...rest }),
};
const DEFAULT_TOPK = 3;

/** Starts a server on a free port of 127.0.0.1. Who starts it closes it, and the retriever. @param headers go with documents. */
export async function startRetrieveServer(
  retriever: Retriever,
  dialect: 'query' | 'queries' = 'query',
  headers: Readonly<Record<string, string>> = {},
): Promise<RetrieveServer> {
  const requests: unknown[] = [];
  const faults: RetrieveFault[] = [];

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await bodyOf(incoming);
    if (incoming.url !== '/retrieve') return send(response, 404, '{"detail":"Not Found"}');
    if (incoming.method !== 'POST') return send(response, 405, '{"detail":"Method Not Allowed"}');
    const body: unknown = JSON.parse(text);
    requests.push(body);
    const fault = faults.shift();
    switch (fault?.kind) {
      case 'status':
        return send(response, fault.status, 'Internal Server Error', fault.headers);
      case 'body':
        return send(response, 200, fault.body);
      case 'silent':
        return;
      case 'cut':
        return void incoming.socket.destroy();
      case undefined:
        return retrieve(body, response);
      default:
        return fault satisfies never;
    }
  }

  async function retrieve(body: unknown, response: ServerResponse): Promise<void> {
    const parsed = inputSchema[dialect].safeParse(body);
    if (!parsed.success) return send(response, 422, JSON.stringify({ detail: parsed.error.issues }));
    const { topk, return_scores: withScores } = parsed.data;
    const queries = 'query' in parsed.data ? [parsed.data.query] : parsed.data.queries;
    const found = await retriever.search(queries, topk ?? DEFAULT_TOPK);
    const result = found.map((documents) =>
      documents.map(({ id, contents, score }) => (withScores ? { document: { id, contents }, score } : { id, contents })),
    );
    send(response, 200, JSON.stringify({ result }), headers);
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://127.0.0.1:${port}/retrieve`,
    requests,
    fail: (...more) => void faults.push(...more),
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer); // an undecoded request stream yields buffers
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, status: number, body: string, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}
