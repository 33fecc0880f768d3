import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

/**
 * A stand-in for a SandboxFusion server: HTTP on loopback, `POST /run_code` with its request and answer shapes and FastAPI's 404,
 * 405 and 422, and a function in the place of Python. It fails on demand.
 */
export interface SandboxServer {
  readonly url: string;
  /** The bodies of all well-formed requests, in order of arrival. */
  readonly requests: readonly z.infer<typeof requestShape>[];
  /** How many programs ran at the same time at most. */
  readonly most: () => number;
  /** Makes the next requests fail in these ways, one each. */
  fail(...faults: readonly SandboxFault[]): void;
  close(): Promise<void>;
}

export type SandboxFault =
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly kind: 'body'; readonly body: string }
  | { readonly kind: 'sandbox-error' }
  | { readonly kind: 'silent' }
  | { readonly kind: 'cut' };

/** What a program did. */
export type Ran =
  | { readonly kind: 'finished'; readonly stdout: string }
  | { readonly kind: 'raised'; readonly stdout: string; readonly stderr: string }
  | { readonly kind: 'too-long' };

const requestShape = z.object({
  code: z.string(),
  language: z.literal('python'),
  run_timeout: z.number().positive().default(10),
  compile_timeout: z.number().positive().default(10),
});

/** Starts a server on a free port of 127.0.0.1. Who starts it closes it. @param python says what a program does. */
export async function startSandboxServer(python: (code: string) => Ran | Promise<Ran>): Promise<SandboxServer> {
  const requests: z.infer<typeof requestShape>[] = [];
  const faults: SandboxFault[] = [];
  let running = 0;
  let most = 0;

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await bodyOf(incoming);
    if (incoming.url !== '/run_code') return send(response, 404, { detail: 'Not Found' });
    if (incoming.method !== 'POST') return send(response, 405, { detail: 'Method Not Allowed' });
    const parsed = requestShape.safeParse(JSON.parse(text));
    if (!parsed.success) return send(response, 422, { detail: parsed.error.issues });
    requests.push(parsed.data);
    const fault = faults.shift();
    switch (fault?.kind) {
      case 'status':
        return send(response, fault.status, { detail: 'Internal Server Error' }, fault.headers);
      case 'body':
        return void response.writeHead(200, { 'content-type': 'application/json' }).end(fault.body);
      case 'sandbox-error':
        return send(response, 200, { status: 'SandboxError', message: 'no sandbox is free', run_result: null });
      case 'silent':
        return;
      case 'cut':
        return void incoming.socket.destroy();
      case undefined:
        return run(parsed.data.code, response);
      default:
        return fault satisfies never;
    }
  }

  async function run(code: string, response: ServerResponse): Promise<void> {
    running++;
    most = Math.max(most, running);
    const ran = await python(code);
    running--;
    send(response, 200, answerOf(ran));
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    most: () => most,
    fail: (...more) => void faults.push(...more),
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

function answerOf(ran: Ran): object {
  const rest = { message: '', compile_result: null, executor_pod_name: null, files: {} };
  const stage = { execution_time: 0.01, stdout: ran.kind === 'too-long' ? '' : ran.stdout };
  switch (ran.kind) {
    case 'finished':
      return { status: 'Success', ...rest, run_result: { ...stage, status: 'Finished', return_code: 0, stderr: '' } };
    case 'raised':
      return { status: 'Failed', ...rest, run_result: { ...stage, status: 'Finished', return_code: 1, stderr: ran.stderr } };
    case 'too-long':
      return { status: 'Failed', ...rest, run_result: { ...stage, status: 'TimeLimitExceeded', return_code: null, stderr: '' } };
    default:
      return ran satisfies never;
  }
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer); // an undecoded request stream yields buffers
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, status: number, body: object, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
