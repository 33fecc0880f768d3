import { z } from 'zod';
import { id, policyId } from '../../events/schemas/values.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import {
  backend,
  decided,
  head,
  kept,
  NEEDS,
  refuseMissing,
  type TrainingWorld,
  trainingRefusals,
  weights,
} from './training-endpoint.ts';

const request = z.strictObject({
  policyId,
  backend,
  weights,
  kept: kept.default(null),
});
const registered = z.object({
  kind: z.literal('registered'),
  lineageId: id,
  head: head.describe('The newest version: 0, or what was trained since.'),
});

export function registerPolicy({ service, bodies, ...world }: TrainingWorld): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/training/policies',
    needs: NEEDS,
    summary: 'Registers the first version of a policy.',
    body: bodies(request),
    answers: {
      200: { description: 'It is registered, now or before.', content: { 'application/json': registered } },
      ...trainingRefusals({
        409: 'It is registered with other weights (`already-registered`).',
        422: 'The blob store does not hold `kept.blob`.',
      }),
    },
    handle: async ({ body, principal }) =>
      (await refuseMissing(world, body.kept, principal)) ?? decided(await service.registerPolicy(body)),
  });
}
