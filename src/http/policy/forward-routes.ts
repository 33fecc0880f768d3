import { z } from 'zod';
import { cutText } from '../../domain/text/cut-text.ts';
import type { ServedPolicy } from '../../policies/served/served-policy.ts';
import { type Endpoint, endpoint, type Parsed } from '../endpoint.ts';
import { createBodyBudget } from '../ingest/body-budget.ts';
import { createGate } from '../ingest/gate.ts';
import { refusals } from '../openapi.ts';
import { json, type Reply } from '../reply.ts';
import { whileConnected } from '../while-connected.ts';
import { FAILURE, failure, modelsEndpoint, NEEDS } from './models-endpoint.ts';

const BODY_BYTES = 64 * 1_048_576; // pictures travel inside
const BODIES_BYTES = 256 * 1_048_576; // of all together
const IN_FLIGHT = 256; // requests

const chat = z.looseObject({
  model: z.string(),
  messages: z.array(z.unknown()).min(1),
  stream: z.literal(false, { error: 'streams are not served; leave it out' }).nullish(),
});

/**
 * Returns the endpoints of a language model that is being trained: requests go on to its model server while that holds the newest
 * version, and come back as it answered, under the name of the policy.
 */
export function forwardRoutes(policy: ServedPolicy, clock: () => number): readonly Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/chat/completions',
      needs: NEEDS,
      summary: 'Replies by the newest version; the request goes on to its model server.',
      body: {
        content: { 'application/json': chat },
        limit: BODY_BYTES,
        budget: createBodyBudget(BODIES_BYTES),
        counts: 'until-answered',
        gate: createGate(IN_FLIGHT),
        full: failure(429, 'rate_limit_exceeded', 'too many requests are in progress; try again'),
        parse: parseChat,
      },
      answers: {
        200: {
          description: 'As the model server answers.',
          content: { 'application/json': z.looseObject({ model: z.string() }) },
        },
        400: { description: 'A field does not fit, or the model server refuses it.', content: FAILURE },
        404: { description: 'Another model.', content: FAILURE },
        ...refusals({
          408: 'The body arrived too slowly while the request bodies take too much memory.',
          413: 'The body is over 64 MiB.',
          415: 'Another Content-Encoding.',
        }),
        429: { description: 'Too many requests: send again after Retry-After seconds.', content: FAILURE },
      },
      handle: ({ req, body }) => whileConnected(req, (signal) => complete(body, signal)),
    }),
    modelsEndpoint(policy, clock),
  ];

  async function complete(request: z.infer<typeof chat>, signal: AbortSignal): Promise<Reply | undefined> {
    const { policyId } = policy.ref;
    if (request.model !== policyId)
      return failure(
        404,
        'model_not_found',
        `The model \`${cutText(request.model, 200)}\` does not exist; there is ${policyId}`,
        'model',
      );
    try {
      const { status, answer } = await policy.forward(request, signal);
      return json(status === 200 ? 200 : 400, status === 200 ? { ...answer, model: policyId } : answer);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }
}

function parseChat(bytes: Uint8Array): Parsed<z.infer<typeof chat>> {
  const refused = (message: string) => ({ kind: 'refused' as const, reply: failure(400, 'invalid_request_error', message) });
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return refused('We could not parse the JSON body of your request');
  }
  const parsed = chat.safeParse(value);
  return parsed.success ? { kind: 'parsed', value: parsed.data } : refused(cutText(z.prettifyError(parsed.error), 2_000));
}
