import { isUuid } from '../../domain/ids.ts';
import type { Db } from '../../postgres/database.ts';
import { type Principal, sees } from '../../postgres/principal.ts';
import { type Owner, readOwners } from '../../projections/owners/read-owners.ts';
import { unknownBatch, unknownLease } from '../../training/leases/check-request.ts';
import { isAtService, lineageIdOf, lineageOfBatch, lineageOfLease } from '../../training/leases/lineage-of.ts';
import type { Endpoint, EndpointRequest } from '../endpoint.ts';
import { type Reply, refuse } from '../reply.ts';
import { unknownPolicyReply } from './lease-batch.ts';
import { decided } from './training-endpoint.ts';

/** Makes endpoints that act for a principal: what they decide is stamped with it. */
export type EndpointsOf = (principal: Principal) => readonly Endpoint[];

export interface ProjectWorld {
  readonly db: Db;
  /** Waits, within a limit, until the owners of all policies that the log holds now are folded; returns whether they are. */
  readonly ownersFolded: () => Promise<boolean>;
  readonly endpointsOf: EndpointsOf;
}

/**
 * Confines endpoints of training to the projects of who asks. A policy belongs to the project of who declared or registered it;
 * one of another project, its leases and its batches are not there for a key, and are answered as ids that nothing has. What a
 * key decides is stamped with it.
 */
export function ofProject(endpoint: Endpoint, index: number, { db, ownersFolded, endpointsOf }: ProjectWorld): Endpoint {
  return {
    ...endpoint,
    async handle(asked) {
      const { principal } = asked;
      if (principal.keyId === null) return endpoint.handle(asked);
      const handle = (as: Principal) => (endpointsOf(as)[index] ?? endpoint).handle({ ...asked, principal: as });
      const subject = subjectOf(endpoint, asked);
      if (subject.kind === 'none') return handle(principal);
      if (subject.kind === 'policy') {
        const owner = await ownerOf(lineageIdOf(subject.policyId), { db, ownersFolded });
        if (owner === 'undecided') return UNDECIDED;
        if (!owner) return handle(principal);
        if (sees(principal, owner.project)) return handle({ ...principal, project: owner.project });
        return endpoint.path.endsWith('/leases') ? unknownPolicyReply(db, subject.policyId, principal) : NAME_TAKEN;
      }
      // A batch that is not folded yet is unknown: its id can be computed before its owner is known.
      const lineageId = await (subject.kind === 'lease' ? lineageOfLease : lineageOfBatch)(db, subject.id);
      const owner = lineageId && (await readOwners(db, 'training', [lineageId])).get(lineageId);
      if (owner && sees(principal, owner.project)) return handle({ ...principal, project: owner.project });
      return decided(subject.kind === 'lease' ? unknownLease(subject.id) : unknownBatch(subject.id));
    },
  };
}

const NAME_TAKEN = refuse(409, 'the name of the policy is taken by another project', 'name another policy');
const UNDECIDED: Reply = refuse(
  503,
  'the projections are behind the log, and which project the policy belongs to is not decided yet',
  'send it again; GET /v1/health says how far the projections are',
  { headers: { 'retry-after': '1' } },
);

/**
 * Finds who a policy belongs to. One without an owner may have been opened a moment ago: the log is folded first, and what the
 * lease service holds is on its way there.
 */
async function ownerOf(
  lineageId: string,
  { db, ownersFolded }: Pick<ProjectWorld, 'db' | 'ownersFolded'>,
): Promise<Owner | 'undecided' | undefined> {
  const look = async () => (await readOwners(db, 'training', [lineageId])).get(lineageId);
  const known = await look();
  if (known) return known;
  const waits = await isAtService(db, lineageId);
  if (!(await ownersFolded())) return 'undecided';
  return (await look()) ?? (waits ? 'undecided' : undefined);
}

type Subject =
  | { readonly kind: 'none' }
  | { readonly kind: 'policy'; readonly policyId: string }
  | { readonly kind: 'lease' | 'batch'; readonly id: string };

/** What a request is about; `none` where it names nothing that could be there, which the endpoint refuses itself. */
function subjectOf({ path }: Endpoint, { params, body }: EndpointRequest<unknown, unknown, unknown>): Subject {
  const { policyId } = (body ?? {}) as { readonly policyId?: unknown }; // a body that was read may name one
  if (typeof policyId === 'string') return { kind: 'policy', policyId };
  const { id } = (params ?? {}) as { readonly id?: unknown };
  if (typeof id !== 'string') return { kind: 'none' };
  if (path.startsWith('/v1/training/policies/')) return { kind: 'policy', policyId: id };
  if (!isUuid(id)) return { kind: 'none' };
  return { kind: path.startsWith('/v1/training/leases/') ? 'lease' : 'batch', id };
}
