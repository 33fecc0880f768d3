import type { PolicyFilter } from '../../projections/trajectories/trajectory-query.ts';

const VERSION = /@(\d+)$/;
const LAST_VERSION = 2_147_483_647; // as events hold it

/** How a policy is to be written. */
export const POLICY_FORM =
  'a policy, or a policy and its version: linear@3; an id that itself ends in @ and digits is followed by one more @: model@2@';

/**
 * Reads a policy as a filter names it. An id may hold any character: what follows its last `@` is a version when it is digits,
 * and nothing at all when it is empty. Undefined for a text that names none.
 */
export function parsePolicyFilter(text: string): PolicyFilter | undefined {
  const version = VERSION.exec(text)?.[1];
  const end = version === undefined ? (text.endsWith('@') ? 1 : 0) : version.length + 1;
  const policyId = text.slice(0, text.length - end);
  if (policyId === '' || Number(version ?? 0) > LAST_VERSION) return undefined;
  return { policyId, version: version === undefined ? null : Number(version) };
}

/** Writes a filter in the form that `parsePolicyFilter` reads. */
export function policyFilterText({ policyId, version }: PolicyFilter): string {
  if (version !== null) return `${policyId}@${version}`;
  return VERSION.test(policyId) || policyId.endsWith('@') ? `${policyId}@` : policyId;
}
