import type { Head, RefusalCode, Refused } from './protocol.ts';

/** Makes a refusal: a value, with what to do instead. */
export function refused(code: RefusalCode, message: string, remedy: string): Refused {
  return { kind: 'refused', code, message, remedy };
}

export function unknownPolicy(policyId: string): Refused {
  return refused(
    'unknown-policy',
    `no first version of the policy ${JSON.stringify(policyId.slice(0, 200))} is registered`,
    'register it with the digest of its initial weights (POST /v1/training/policies)',
  );
}

export function unknownLease(leaseId: string): Refused {
  return refused('unknown-lease', `no lease ${leaseId} was ever given`, 'name the leaseId that the lease was answered with');
}

export function unknownBatch(batchId: string): Refused {
  return refused(
    'unknown-batch',
    `no batch ${batchId} is planned for a policy that has a version`,
    'name the batchId that its lease or GraphQL (policy → batches → id) returns',
  );
}

export function staleFence(why: string): Refused {
  return refused(
    'stale-fence',
    why,
    'drop what was computed, lease again and train from the base it names; renew a lease before its deadline to keep it',
  );
}

export function staleBase(base: number, head: Head): Refused {
  return refused(
    'stale-base',
    `version ${base} is not the newest: the policy is at version ${head.version}`,
    `load checkpoint ${head.checkpointId} (weights ${head.weights}) and lease again`,
  );
}
