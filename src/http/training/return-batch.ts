import { z } from 'zod';
import { id } from '../../events/schemas/values.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { decided, fence, leaseId, NEEDS, reason, type TrainingWorld, trainingRefusals } from './training-endpoint.ts';

const returned = z.object({ kind: z.literal('returned'), batchId: id });

export function returnBatch({ service, bodies }: TrainingWorld): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/training/leases/{id}/nack',
    needs: NEEDS,
    summary: 'Returns a batch, for another consumer to lease.',
    params: leaseId,
    body: bodies(z.strictObject({ fence, reason })),
    answers: {
      200: { description: 'Another consumer may lease the batch.', content: { 'application/json': returned } },
      ...trainingRefusals({ 404: 'No such lease was ever given.', 409: 'The lease is over (`stale-fence`).' }),
    },
    handle: async ({ params, body }) => decided(await service.nack({ leaseId: params.id, ...body })),
  });
}
