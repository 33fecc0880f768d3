import { z } from 'zod';
import { id, policyId } from '../../events/schemas/values.ts';
import { type Declaration, declarationFields } from '../../usecases/train/declaration/declaration-fields.ts';
import { completeDeclaration } from '../../usecases/train/declaration/parse-declaration.ts';
import { isOwn } from '../../usecases/train/declaration/trainer-of.ts';
import type { PolicyDeclared } from '../../usecases/train/declare-policy.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { json, type Reply, refuse } from '../reply.ts';
import { decided, head, NEEDS, refuseMissing, type TrainingWorld, trainingRefusals } from './training-endpoint.ts';

/** Declares the training of a policy; what a declaration leaves out is chosen there. */
export type Declare = (policyId: string, declaration: Declaration) => Promise<PolicyDeclared>;

const registered = z.object({
  kind: z.literal('registered'),
  lineageId: id,
  head: head.describe('The newest version: 0, or what was trained since.'),
});
const declaredAlone = z.object({
  kind: z.literal('declared').describe('It is declared, and has no version yet: its trainer makes or registers version 0.'),
  lineageId: id,
  next: z.string().describe('What makes version 0.'),
});
const STATUS = { invalid: 422, 'declared-otherwise': 409 } as const;

export function declarePolicyEndpoint({ service, bodies, ...world }: TrainingWorld, declare: Declare): Endpoint {
  return endpoint({
    method: 'PUT',
    path: '/v1/training/policies/{id}',
    needs: NEEDS,
    summary: 'Declares that a policy is trained, and registers its first version.',
    description:
      'Batches are planned from then on, from the finished rollouts of runs whose `config.training` names the policy and the channel `train`. The same declaration again changes nothing. `GET /v1/training/declaration.schema.json` describes a declaration by itself.',
    params: z.object({ id: policyId }),
    body: bodies(declarationFields),
    answers: {
      200: {
        description: 'It is declared, and registered where its first weights are known, now or before.',
        content: { 'application/json': z.union([registered, declaredAlone]) },
      },
      ...trainingRefusals({
        400: 'The body is no JSON, or a field does not fit; `problems` names it.',
        409: 'It is declared otherwise (`declared-otherwise`), or registered with other weights (`already-registered`).',
        422: 'A field belongs to another estimator, loss or backend (`problems` names it), or the blob store does not hold `kept.blob`.',
      }),
    },
    async handle({ params, body, principal }) {
      const completed = completeDeclaration(body);
      if (completed.kind === 'refused') {
        const { field, message, remedy } = completed;
        return refuse(422, message, remedy, { problems: [{ index: 0, path: field, message, remedy }] });
      }
      const missing = await refuseMissing(world, body.kept ?? null, principal);
      if (missing) return missing;
      const declared = await declare(params.id, completed.declaration);
      if (declared.kind === 'declared')
        return declared.first
          ? decided(await service.registerPolicy(declared.first))
          : unregistered(declared.lineageId, params.id, completed.declaration.backend);
      const { code, message, remedy } = declared;
      return json(STATUS[code], { error: { code, message, remedy } });
    },
  });
}

function unregistered(lineageId: string, id: string, backend: string): Reply {
  const next = isOwn(backend)
    ? `a trainer makes version 0: espalier serve train ${id}`
    : `its trainer registers version 0: POST /v1/training/policies with the SHA-256 of the first weights`;
  return json(200, { kind: 'declared', lineageId, next });
}
