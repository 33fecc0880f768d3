import type { Db } from '../../postgres/database.ts';
import { type Principal, sees } from '../../postgres/principal.ts';
import { readOwners } from '../../projections/owners/read-owners.ts';
import { lineageIdOf } from '../../training/leases/lineage-id.ts';
import { lineageOfBatch, lineageOfLease } from '../../training/leases/lineage-of.ts';
import type { Asked, Endpoint } from '../endpoint.ts';
import { type Reply, refuse } from '../reply.ts';

/** Makes endpoints that act for a principal: what they decide is stamped with it. */
export type EndpointsOf = (principal: Principal) => readonly Endpoint[];

/**
 * Confines endpoints of training to the projects of who asks. A policy belongs to the project of who declared or registered it;
 * one of another project, its leases and its batches are not there for a key. What a key decides is stamped with it.
 */
export function ofProject(endpoint: Endpoint, index: number, db: Db, endpointsOf: EndpointsOf): Endpoint {
  return {
    ...endpoint,
    async handle(asked) {
      const { principal } = asked;
      if (principal.keyId === null) return endpoint.handle(asked);
      const lineageId = await lineageAsked(endpoint, asked, db);
      const owner = lineageId && (await readOwners(db, 'training', [lineageId])).get(lineageId);
      if (owner && !sees(principal, owner.project)) return notThere(endpoint);
      const as = owner ? { ...principal, project: owner.project } : principal;
      return (endpointsOf(as)[index] ?? endpoint).handle(asked);
    },
  };
}

function notThere({ path }: Endpoint): Reply {
  if (path.endsWith('/policies') || path.endsWith('/policies/{id}'))
    return refuse(409, 'the name of the policy is taken by another project', 'name another policy');
  return refuse(404, 'no such policy, lease or batch is on record in the projects of the key', 'ask with a key of its project');
}

async function lineageAsked({ path }: Endpoint, { params, body }: Asked<unknown, unknown, unknown>, db: Db) {
  const { policyId } = (body ?? {}) as { readonly policyId?: unknown }; // a body that was read may name one
  if (typeof policyId === 'string') return lineageIdOf(policyId);
  const { id } = (params ?? {}) as { readonly id?: unknown };
  if (typeof id !== 'string') return undefined;
  if (path.startsWith('/v1/training/policies/')) return lineageIdOf(id);
  return path.startsWith('/v1/training/leases/') ? lineageOfLease(db, id) : lineageOfBatch(db, id);
}
