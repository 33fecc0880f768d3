import { z } from 'zod';
import type { Policy } from '../../policies/policy.ts';
import type { Principal } from '../../postgres/principal.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { json, type Reply } from '../reply.ts';

export const NEEDS = 'any-key';

/** Whether a principal sees the policy that is served: it belongs to a project. */
export type SeenBy = (principal: Principal) => Promise<boolean>;
export const seenByAll: SeenBy = async () => true;

/** Returns the endpoint that lists the one policy that is served, to who sees it. */
export function modelsEndpoint(policy: Policy, clock: () => number, seenBy: SeenBy): Endpoint {
  const served = () => ({
    id: policy.ref.policyId,
    object: 'model' as const,
    created: Math.floor(clock() / 1_000),
    owned_by: 'espalier',
    version: policy.ref.version,
  });
  return endpoint({
    method: 'GET',
    path: '/v1/models',
    needs: NEEDS,
    summary: 'The policy that is served, as a list of one model; an empty one for a key of other projects.',
    answers: { 200: { description: 'The policy and its newest version.', content: { 'application/json': listed } } },
    handle: async ({ principal }) => json(200, { object: 'list', data: (await seenBy(principal)) ? [served()] : [] }),
  });
}

const listed = z.object({
  object: z.literal('list'),
  data: z.array(
    z.object({
      id: z.string(),
      object: z.literal('model'),
      created: z.int(),
      owned_by: z.string(),
      version: z.int().describe('The newest version.'),
    }),
  ),
});
export const FAILURE = {
  'application/json': z.object({
    error: z.object({ message: z.string(), type: z.string(), param: z.string().nullable(), code: z.string() }),
  }),
};

/** An error as OpenAI's server writes it. */
export function failure(status: number, code: string, message: string, param: string | null = null): Reply {
  const type = status === 429 ? 'requests' : 'invalid_request_error';
  return json(status, { error: { message, type, param, code } }, status === 429 ? { 'retry-after': '1' } : {});
}
