import { z } from 'zod';
import { UpstreamFailed } from '../../usecases/capture/capture-errors.ts';
import type { ForwardOptions } from '../../usecases/capture/forward-call.ts';
import type { Capture } from '../../usecases/capture/open-capture.ts';
import { readText } from '../../usecases/capture/split-events.ts';
import type { Upstream } from '../../usecases/capture/upstream.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { createJsonBodies } from '../json-body.ts';
import { refusals } from '../openapi.ts';
import { otlpEndpoint } from '../otlp-endpoint.ts';
import { type Reply, refuse } from '../reply.ts';
import { whileConnected } from '../while-connected.ts';
import { callEndpoints } from './call-endpoint.ts';
import { callsEndpoint } from './calls-endpoint.ts';
import { closeEndpoints } from './close-endpoints.ts';
import { judgeEndpoints } from './judge-endpoints.ts';
import { replyTo } from './proxy-replies.ts';
import { placeParams } from './proxy-request.ts';

export interface ProxyOptions {
  readonly capture: Capture;
  /** Null where the installation names none: then calls cannot be passed on. */
  readonly upstream: Upstream | null;
  readonly whenUnrecorded: 'fail' | 'pass';
  /** Bytes of one reply of the model server. */
  readonly replyBytes?: number;
}

const CALLS = 256; // that are being passed on
const REPLY_BYTES = 256 * 1_048_576; // a reply of 100,000 tokens with log-probabilities takes some 30 MB
const MODELS_BYTES = 16 * 1_048_576;

/** Returns the endpoints that stand for a model server: `/v1/proxy/…`. @param limits bytes of one body and of all together. */
export function proxyRoutes(
  { capture, upstream, whenUnrecorded, replyBytes = REPLY_BYTES }: ProxyOptions,
  limits: { readonly bodyBytes: number; readonly ingestBytes: number },
): readonly Endpoint[] {
  const bodies = createJsonBodies({
    use: 'passed-on',
    limit: limits.bodyBytes,
    together: limits.ingestBytes,
    requests: CALLS,
    full: 'too many calls are in progress',
  });
  const world: ForwardOptions = {
    capture,
    whenUnrecorded,
    replyBytes,
    refusing: new Map(),
    upstream: upstream ?? NONE,
  };
  return [
    ...callEndpoints('chat.completions', world, bodies),
    ...callEndpoints('responses', world, bodies),
    ...modelsEndpoints(upstream ?? NONE),
    ...judgeEndpoints(capture, bodies),
    ...closeEndpoints(capture, bodies),
    callsEndpoint(capture, bodies),
    otlpEndpoint('traces', capture, limits),
    otlpEndpoint('logs', capture, limits),
  ];
}

/** The model server of an installation that names none. */
const NONE: Upstream = {
  shown: 'none',
  timeoutMs: 60_000,
  ask: 'none',
  hide: (text) => text,
  async send() {
    throw new UpstreamFailed(
      'unreachable',
      'this installation names no model server: start it with ESPALIER_UPSTREAM, or `espalier proxy --upstream URL`',
    );
  },
};

function modelsEndpoints(upstream: Upstream): readonly Endpoint[] {
  const shared = {
    ...({ method: 'GET', needs: ['ingest'], summary: 'The models of the model server that calls are passed on to.' } as const),
    answers: {
      200: {
        description: 'As the model server lists them.',
        content: { 'application/json': z.looseObject({ object: z.string() }) },
      },
      ...refusals({ 502: 'The model server was not reached.', 504: 'The model server was silent for too long.' }),
    },
  };
  const models = async (signal: AbortSignal): Promise<Reply | undefined> => {
    const either = AbortSignal.any([signal, AbortSignal.timeout(upstream.timeoutMs)]);
    try {
      const { response, hide } = await upstream.send('/models', null, either);
      const body = hide(await readText(response, MODELS_BYTES));
      const headers = { 'content-type': response.headers.get('content-type') ?? 'application/json' };
      return { status: response.status >= 300 && response.status < 400 ? 502 : response.status, headers, body };
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof UpstreamFailed) return replyTo(error);
      const why = either.aborted ? `was silent for ${upstream.timeoutMs} ms` : 'was not reached';
      return refuse(either.aborted ? 504 : 502, `the model server at ${upstream.shown} ${why}`, 'see that it runs');
    }
  };
  return [
    endpoint({
      ...shared,
      path: '/v1/proxy/{run}/{task}/{rollout}/models',
      params: placeParams,
      handle: ({ req }) => whileConnected(req, models),
    }),
    endpoint({ ...shared, path: '/v1/proxy/models', handle: ({ req }) => whileConnected(req, models) }),
  ];
}
