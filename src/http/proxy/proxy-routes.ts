import { UpstreamFailed } from '../../usecases/capture/capture-errors.ts';
import type { ForwardOptions } from '../../usecases/capture/forward-call.ts';
import type { Capture } from '../../usecases/capture/open-capture.ts';
import type { Upstream } from '../../usecases/capture/upstream.ts';
import type { Endpoint } from '../endpoint.ts';
import { createJsonBodies } from '../json-body.ts';
import { otlpEndpoint } from '../otlp-endpoint.ts';
import { callEndpoints } from './call-endpoint.ts';
import { callsEndpoint } from './calls-endpoint.ts';
import { closeEndpoints } from './close-endpoints.ts';
import { judgeEndpoints } from './judge-endpoints.ts';
import { passEndpoints } from './pass-endpoints.ts';

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
    ...judgeEndpoints(capture, bodies),
    ...closeEndpoints(capture, bodies),
    callsEndpoint(capture, bodies),
    otlpEndpoint('traces', capture, limits),
    otlpEndpoint('logs', capture, limits),
    ...passEndpoints(world, limits),
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
