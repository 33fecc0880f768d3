import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { UpstreamFailed } from '../../usecases/capture/capture-errors.ts';
import type { ForwardOptions } from '../../usecases/capture/forward-call.ts';
import { passThrough } from '../../usecases/capture/pass-through.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { createGate } from '../ingest/gate.ts';
import { refusals } from '../openapi.ts';
import { busy, createBodyBudget } from '../receive-bodies.ts';
import { type Reply, refuse } from '../reply.ts';
import { passingOn, replyTo } from './proxy-replies.ts';
import { placeParams } from './proxy-request.ts';

const REQUESTS = 256; // that are being passed on, whatever their method
const METHODS = ['GET', 'POST', 'DELETE'] as const;
const ANY = { type: 'string', format: 'binary', description: 'As the model server takes and answers it.' } as const;
const wildcard = z.object({ '*': z.string().describe('Path below the address of the model server.') });
const placed = placeParams.extend(wildcard.shape);

const RECORDED = /\/(chat\/completions|responses)$/;
const RECORDED_REMEDY = (path: string) =>
  `send it to /v1/proxy/RUN/TASK/ROLLOUT${path}, or to /v1/proxy${path} with the x-espalier headers: the base_url ends without /v1`;

/** Returns the path of a call that is recorded at its own address only; null for one that is passed on. */
function recordedPath(method: Passed['method'], whole: string): string | null {
  if (method !== 'POST') return null;
  const named = RECORDED.exec(`/${partsOf(whole).join('/')}`)?.[1];
  return named === undefined ? null : `/${named}`;
}

/** The parts of a decoded path as a model server may read them. */
function partsOf(path: string): readonly string[] {
  return path.split(/[/\\]/).filter((part) => part !== '' && part !== '.');
}

function isPassed(paths: readonly string[], method: Passed['method'], below: string): boolean {
  const path = `${partsOf(below).join('/')}/`;
  return paths.some((allowed) => {
    if (allowed === '*') return true;
    const [prefix = '', only = method] = allowed.split(' ').reverse();
    return only === method && path.startsWith(`${prefix}/`);
  });
}

interface Passed {
  /** With the address as it was sent, which the framework keeps where it reads another one. */
  readonly req: IncomingMessage & { readonly originalUrl?: string };
  readonly method: (typeof METHODS)[number];
  readonly sent: Buffer | undefined;
  /** The path below the proxy, decoded, and how many parts of the address are before it. */
  readonly below: string;
  readonly depth: number;
  /** All of the path below `/v1/proxy/`, decoded. */
  readonly whole: string;
}

/** Makes the endpoints that pass on what is not recorded: models, embeddings, legacy completions, files, audio. */
export function passEndpoints(
  { upstream, replyBytes, onUnrecorded }: Pick<ForwardOptions, 'upstream' | 'replyBytes' | 'onUnrecorded'>,
  paths: readonly string[],
  limits: { readonly bodyBytes: number; readonly ingestBytes: number },
): readonly Endpoint[] {
  const gate = createGate(REQUESTS);
  const full = busy('too many requests are being passed on');
  const body = {
    content: { '*/*': ANY },
    limit: limits.bodyBytes,
    budget: createBodyBudget(limits.ingestBytes),
    gate: () => () => undefined, // taken below: a reply that streams holds its place to its end
    full,
    parse: (bytes: Buffer) => ({ kind: 'parsed', value: bytes }) as const,
  };
  return METHODS.flatMap((method) => {
    const shared = {
      method,
      needs: ['ingest'],
      summary: 'Passes on to the model server what is not recorded: models, embeddings, legacy completions, files, audio.',
      ...(method === 'GET' ? {} : { body }),
      answers: {
        200: {
          description: 'As the model server answers.',
          content: { '*/*': ANY },
          headers: { 'x-espalier-unrecorded': 'That the request is not on record.' },
        },
        ...refusals({
          403: 'The key may not, or the path is none of those that are passed on (ESPALIER_PROXY_PATHS).',
          404: 'The path is that of a call that is recorded, which has addresses of its own.',
          502: 'The model server was not reached.',
          504: 'The model server was silent for too long.',
        }),
      },
    } as const;
    return [
      endpoint<z.infer<typeof placed>, unknown, Buffer | undefined>({
        ...shared,
        path: '/v1/proxy/{run}/{task}/{rollout}/*',
        params: placed,
        handle: ({ req, params, body: sent }) => {
          const { run, task, rollout, '*': below } = params;
          return pass({ req, method, sent, below, depth: 6, whole: `${run}/${task}/${rollout}/${below}` });
        },
      }),
      endpoint<z.infer<typeof wildcard>, unknown, Buffer | undefined>({
        ...shared,
        path: '/v1/proxy/*',
        params: wildcard,
        handle: ({ req, params, body: sent }) => pass({ req, method, sent, below: params['*'], depth: 3, whole: params['*'] }),
      }),
    ];
  });

  function pass({ req, method, sent, below, depth, whole }: Passed): Promise<Reply | undefined> {
    const named = recordedPath(method, whole);
    if (named !== null)
      return Promise.resolve(refuse(404, `${named} is recorded at its own addresses, and this is none`, RECORDED_REMEDY(named)));
    if (partsOf(below).includes('..'))
      return Promise.resolve(replyTo(new UpstreamFailed('protocol', 'the path leads out of the model server')));
    if (!isPassed(paths, method, below)) {
      const path = `${method} ${partsOf(below).join('/')}`;
      const remedy = `have it named in ESPALIER_PROXY_PATHS where the server is started, which is ${paths.join(',')}`;
      return Promise.resolve(refuse(403, `${path} is not passed on to the model server`, remedy));
    }
    const leave = gate();
    if (!leave) return Promise.resolve(full);
    const send = async (signal: AbortSignal) => {
      const { 'content-type': type, accept } = req.headers;
      const headers = { ...(type === undefined ? {} : { 'content-type': type }), accept: accept ?? '*/*' };
      const bytes = sent === undefined || sent.length === 0 ? null : new Uint8Array(sent); // of its own memory, as fetch wants it
      const escaped = (req.originalUrl ?? '').split('/').slice(depth).join('/'); // as it was sent, with its query
      const answer = await passThrough(upstream, replyBytes, { method, path: `/${escaped}`, headers, body: bytes, signal });
      if (method === 'POST') onUnrecorded('path', `/${partsOf(below).join('/')}`);
      return answer;
    };
    return passingOn(req, send, leave);
  }
}
