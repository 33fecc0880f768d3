import { z } from 'zod';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { decided, fence, leaseId, NEEDS, type TrainingWorld, trainingRefusals, ttlMs } from './training-endpoint.ts';

const renewed = z.object({ kind: z.literal('renewed'), deadline: z.iso.datetime() });

export function renewLease({ service, bodies }: TrainingWorld): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/training/leases/{id}/renew',
    needs: NEEDS,
    summary: 'Moves the deadline of a lease.',
    params: leaseId,
    body: bodies(z.strictObject({ fence, ttlMs })),
    answers: {
      200: { description: 'The new deadline.', content: { 'application/json': renewed } },
      ...trainingRefusals({ 404: 'No such lease was ever given.', 409: 'The lease is over (`stale-fence`).' }),
    },
    handle: async ({ params, body }) => decided(await service.renew({ leaseId: params.id, ...body })),
  });
}
