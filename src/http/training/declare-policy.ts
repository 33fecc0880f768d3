import { z } from 'zod';
import { planRules } from '../../events/schemas/training.ts';
import { json as freeForm, id, name, policyId } from '../../events/schemas/values.ts';
import type { TrainingDeclaration } from '../../usecases/train/batcher/declare-training.ts';
import { EXTERNAL_RULES, type PolicyDeclared } from '../../usecases/train/declare-policy.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { json } from '../reply.ts';
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

/** Declares the training of a policy; what a declaration leaves out is chosen there. */
export type Declare = (declaration: TrainingDeclaration) => Promise<PolicyDeclared>;

const estimator = z.strictObject({
  name: name.describe('Name of the estimator, for example `grpo`.'),
  options: z.record(name, freeForm).default({}).describe('Options of the estimator that differ from its own.'),
});
const request = z.strictObject({
  ...{ backend, weights, kept: kept.default(null) },
  estimator: estimator.default({ name: 'grpo', options: {} }).describe('Estimator by which advantages of batches are shown.'),
  rules: planRules.partial().default({}).describe('Rules by which batches are planned, where they differ from the usual ones.'),
  seed: z.int().default(1).describe('Seed of the order of groups in batches.'),
});
const registered = z.object({
  kind: z.literal('registered'),
  lineageId: id,
  head: head.describe('The newest version: 0, or what was trained since.'),
});
const STATUS = { invalid: 400, 'declared-otherwise': 409 } as const;

export function declarePolicyEndpoint({ service, blobs, bodies }: TrainingWorld, declare: Declare): Endpoint {
  return endpoint({
    method: 'PUT',
    path: '/v1/training/policies/{id}',
    needs: NEEDS,
    summary: 'Declares that a policy is trained, and registers its first version.',
    description:
      'Batches are planned from then on, from the finished rollouts of runs whose `config.training` names the policy and the channel `train`. The same declaration again changes nothing.',
    params: z.object({ id: policyId }),
    body: bodies(request),
    answers: {
      200: { description: 'It is declared and registered, now or before.', content: { 'application/json': registered } },
      ...trainingRefusals({
        409: 'It is declared otherwise (`declared-otherwise`), or registered with other weights (`already-registered`).',
        422: 'The blob store does not hold `kept.blob`.',
      }),
    },
    async handle({ params, body }) {
      const missing = await refuseMissing(blobs, body.kept);
      if (missing) return missing;
      const { estimator, seed, rules, ...first } = body;
      const all = planRules.parse({ ...EXTERNAL_RULES, ...rules });
      const declared = await declare({ policyId: params.id, estimator, rules: all, seed, trainer: { backend: body.backend } });
      if (declared.kind === 'declared') return decided(await service.registerPolicy({ policyId: params.id, ...first }));
      const { code, message, remedy } = declared;
      return json(STATUS[code], { error: { code, message, remedy } });
    },
  });
}
