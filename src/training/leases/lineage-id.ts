import { derivedId } from '../../events/derived-id.ts';

/** Returns the stream of all versions of a policy. */
export function lineageIdOf(policyId: string): string {
  return derivedId('lineage', policyId);
}
