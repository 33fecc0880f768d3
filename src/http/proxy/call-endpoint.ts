import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Principal } from '../../postgres/principal.ts';
import { type ForwardOptions, forwardCall, PATHS, type ProxyApi } from '../../usecases/capture/forward-call.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import type { createJsonBodies } from '../json-body.ts';
import type { Reply } from '../reply.ts';
import { ANSWERS, passingOn } from './proxy-replies.ts';
import { type PlaceParams, placeHeaders, placeOf, placeParams, policyHeader, policyOf } from './proxy-request.ts';

export type JsonBodies = ReturnType<typeof createJsonBodies>;

const SUMMARY: Readonly<Record<ProxyApi, string>> = {
  'chat.completions': 'Passes a chat completion on to the model server, and records it as a step.',
  responses: 'Passes a request of the responses protocol on to the model server, and records it as a step.',
};

/** Makes the two endpoints of a protocol: one whose address names the rollout, one whose headers do. */
export function callEndpoints(api: ProxyApi, world: ForwardOptions, bodies: JsonBodies): readonly Endpoint[] {
  const shared = {
    ...({ method: 'POST', needs: ['ingest'], summary: SUMMARY[api] } as const),
    body: bodies(request, 'passed-on'),
    answers: ANSWERS,
  };
  return [
    endpoint<PlaceParams, unknown, CallBody>({
      ...shared,
      path: `/v1/proxy/{run}/{task}/{rollout}${PATHS[api]}`,
      params: placeParams,
      headers: policyHeader,
      description: `Streams are passed on as they come. What the program did not ask for is taken out of the answer. A reply is on record before its end is passed on; the step that it becomes is recorded with the next call, which shows its observation, or at the end of the rollout.`,
      handle: ({ req, params, body, principal }) => forward(req, params, body, principal),
    }),
    endpoint<unknown, unknown, CallBody>({
      ...shared,
      path: `/v1/proxy${PATHS[api]}`,
      headers: placeHeaders.extend(policyHeader.shape),
      handle: ({ req, body, principal }) => forward(req, {}, body, principal),
    }),
  ];

  function forward(
    req: IncomingMessage,
    params: Partial<PlaceParams>,
    body: CallBody,
    principal: Principal,
  ): Promise<Reply | undefined> {
    return passingOn(req, async (signal) => {
      const named = placeOf(params, req.headers);
      return forwardCall(world, { named, principal, api, body, signal, ...policyOf(req.headers) });
    });
  }
}

const request = z.looseObject({
  model: z.string().optional().describe('Model, as its server names it.'),
  stream: z.boolean().nullish().describe('Whether the answer is to come in parts.'),
});
type CallBody = z.infer<typeof request>;
