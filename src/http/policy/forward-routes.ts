import { z } from 'zod';
import type { ServedPolicy } from '../../policies/served/served-policy.ts';
import type { Endpoint } from '../endpoint.ts';
import { json } from '../reply.ts';
import { chatEndpoint } from './chat-endpoint.ts';
import { modelsEndpoint, type SeenBy, seenByAll } from './models-endpoint.ts';

const chat = z.looseObject({
  model: z.string(),
  messages: z.array(z.unknown()).min(1),
  stream: z.literal(false, { error: 'streams are not served; leave it out' }).nullish(),
});

/**
 * Returns the endpoints of a language model that is being trained: requests go on to its model server while that holds the newest
 * version, and come back as it answered, under the name of the policy.
 */
export function forwardRoutes(policy: ServedPolicy, clock: () => number, seenBy: SeenBy = seenByAll): readonly Endpoint[] {
  return [
    chatEndpoint(policy, {
      seenBy,
      summary: 'Replies by the newest version; the request goes on to its model server.',
      request: chat,
      largest: 64, // pictures travel inside
      answered: {
        description: 'As the model server answers.',
        content: { 'application/json': z.looseObject({ model: z.string() }) },
      },
      unfit: 'A field does not fit, or the model server refuses it.',
      async complete(request, signal) {
        const { status, answer } = await policy.forward(request, signal);
        return json(status === 200 ? 200 : 400, status === 200 ? { ...answer, model: policy.ref.policyId } : answer);
      },
    }),
    modelsEndpoint(policy, clock, seenBy),
  ];
}
