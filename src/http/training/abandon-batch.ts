import { z } from 'zod';
import { id } from '../../events/schemas/values.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { batchId, decided, fence, leaseId, NEEDS, type TrainingWorld, trainingRefusals } from './training-endpoint.ts';

const reason = z.string().regex(/\S/, 'must not be empty').max(10_000).describe('Why, in words.');
const abandoned = z.object({ kind: z.literal('abandoned'), batchId: id, ordinal: z.int() });
const done = {
  description: 'The batch produces no version; the next one is leased on the same base.',
  content: { 'application/json': abandoned },
};

/** By the trainer that holds the lease. */
export function abandonLeasedBatch({ service, bodies }: TrainingWorld): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/training/leases/{id}/abandon',
    needs: NEEDS,
    summary: 'Abandons the batch of a lease, whose rows nobody can read.',
    params: leaseId,
    body: bodies(z.strictObject({ fence, reason })),
    answers: {
      200: done,
      ...trainingRefusals({ 404: 'No such lease was ever given.', 409: 'The lease is over (`stale-fence`).' }),
    },
    handle: async ({ params, body }) => decided(await service.abandon({ leaseId: params.id, ...body })),
  });
}

/** By an operator. */
export function abandonBatch({ service, bodies }: TrainingWorld): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/training/batches/{id}/abandon',
    needs: NEEDS,
    summary: 'Abandons a batch by its id: for an operator.',
    params: batchId,
    body: bodies(z.strictObject({ reason })),
    answers: {
      200: done,
      ...trainingRefusals({
        404: 'No such batch is planned.',
        409: 'Batches before it are neither trained nor abandoned (`not-next`), or it was trained (`already-acked`).',
      }),
    },
    handle: async ({ params, body }) => decided(await service.abandon({ batchId: params.id, ...body })),
  });
}
