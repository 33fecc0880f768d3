import { z } from 'zod';
import { unpack } from '../../events/packed.ts';
import { method } from '../../events/schemas/training.ts';
import { id, type Packed } from '../../events/schemas/values.ts';
import { POSITION } from '../../log/position.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { refuse } from '../reply.ts';
import {
  backend,
  decided,
  fence,
  kept,
  leaseId,
  NEEDS,
  refuseMissing,
  serviceName,
  type TrainingWorld,
  trainingRefusals,
  weights,
} from './training-endpoint.ts';

const METRICS = 1_000;

const request = z.strictObject({
  fence,
  version: z.int().min(1).max(2_147_483_647).describe('The version that was made: that of the base + 1.'),
  checkpointId: id.describe('Id of the new checkpoint, chosen by the trainer.'),
  backend,
  weights,
  kept: kept.default(null),
  estimator: method
    .nullable()
    .optional()
    .describe('How advantages were computed: the estimator of the batch unless given, null where none were.'),
  loss: method.nullable().default(null).describe('The loss that was minimised.'),
  metrics: z
    .record(serviceName, z.number())
    .refine((metrics) => Object.keys(metrics).length <= METRICS, `must have at most ${METRICS} names`)
    .meta({ maxProperties: METRICS })
    .default({})
    .describe('Measurements of the update by name.'),
  rewardsAt: z
    .string()
    .max(10_000)
    .regex(POSITION, 'must be a position such as trees.0:3,trees.1:41')
    .optional()
    .describe('`espalier-rewards-at` of the rows that were trained on: replays and shown advantages then use the same rewards.'),
  logProbs: z
    .strictObject({
      dtype: z.literal('float32').describe('Type of the values, in little-endian order.'),
      length: z.int().min(0).describe('Number of values.'),
      bytes: z.base64().describe('The values in base64.'),
    })
    .optional()
    .describe('Log-probability of each sampled token (`response_mask` 1) by the new weights, in the order of the rows.'),
});
const acknowledged = z.object({
  kind: z.literal('acked'),
  batchId: id,
  ordinal: z.int(),
  version: z.int(),
  checkpointId: id,
});

export function acknowledgeBatch({ service, acks, packed, ...world }: TrainingWorld): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/training/leases/{id}/ack',
    needs: NEEDS,
    summary: 'Records that a batch was trained, and the version that it produced.',
    description: 'Sent again with the same content, it has the same answer.',
    params: leaseId,
    body: acks(request),
    answers: {
      200: { description: 'The version is on record.', content: { 'application/json': acknowledged } },
      ...trainingRefusals({
        413: 'The body is over 64 MiB: send fewer log-probs, or leave them out.',
        404: 'No such lease was ever given.',
        409: 'The lease is over (`stale-fence`), the version is not the next (`version-conflict`), or the batch was trained with another result (`already-acked`).',
        422: 'The blob store does not hold `kept.blob`, or `logProbs` has other values than `length` says.',
      }),
    },
    async handle({ params, body: { estimator, rewardsAt, logProbs, ...body }, principal }) {
      const values = logProbs && valuesOf(logProbs);
      if (values === null) return refuse(422, WRONG_BYTES, 'encode the bytes of a little-endian float32 array as base64');
      const given = {
        ...(estimator === undefined ? {} : { estimator }),
        ...(rewardsAt === undefined ? {} : { rewardsAt }),
        ...(values ? { logProbs: values } : {}),
      };
      const missing = await refuseMissing(world, body.kept, principal);
      if (missing) return missing;
      const answer = await service.ack({ leaseId: params.id, ...body, ...given });
      if (answer.kind === 'acked') packed.drop(answer.batchId);
      return decided(answer);
    },
  });
}

const WRONG_BYTES = 'logProbs.bytes are not the base64 of `length` values of float32';

/** Reads packed values; null where the bytes do not fit their length. */
function valuesOf(given: Packed): Float32Array | null {
  try {
    return Float32Array.from(unpack(given));
  } catch {
    return null;
  }
}
