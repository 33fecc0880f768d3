import { isUuid } from '../../domain/ids.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { method } from '../../events/schemas/training.ts';
import { blobRef, sha256 } from '../../events/schemas/values.ts';
import { parsePosition } from '../../log/position.ts';
import type { AckRequest, Head, Holding, RefusalCode, Refused } from './protocol.ts';

// shorter than a round trip is no lease; longer than a day is a lost trainer
export const TTL_MS = { least: 100, most: 86_400_000 } as const;
const NAME_LIMIT = 200;
const METRICS_LIMIT = 1_000;
const POSITION_LIMIT = 10_000; // as the event has it
const VERSION_LIMIT = 2_147_483_647;

/** Checks what every caller must respect, in process or over HTTP. Returns the first thing that is wrong. */
export function checkTtl(ttlMs: number): Refused | undefined {
  if (Number.isInteger(ttlMs) && ttlMs >= TTL_MS.least && ttlMs <= TTL_MS.most) return undefined;
  return invalid('ttlMs', `must be a whole number of milliseconds from ${TTL_MS.least} to ${TTL_MS.most}`);
}

export function checkName(field: string, value: string): Refused | undefined {
  // NUL: Postgres holds no such text. Half surrogates: they would be repaired in the event, and no longer be what the lease
  // service holds.
  const good = value.length > 0 && value.length <= NAME_LIMIT && !value.includes('\0') && value.isWellFormed();
  return good ? undefined : invalid(field, `must be 1 to ${NAME_LIMIT} characters of well-formed text`);
}

export function checkHolding({ leaseId, fence }: Holding): Refused | undefined {
  if (!isUuid(leaseId)) return invalid('leaseId', 'must be a UUID in lower case');
  return Number.isSafeInteger(fence) && fence >= 1
    ? undefined
    : invalid('fence', 'must be the fence that the lease was answered with');
}

export function checkWeights(weights: string, kept: unknown): Refused | undefined {
  if (!sha256.safeParse(weights).success) return invalid('weights', 'must be the SHA-256 of the weights in lower-case hex');
  if (kept === null || blobRef.safeParse(kept).success) return undefined;
  return invalid('kept', 'must be null or a blob reference {blob, size, mediaType}');
}

export function checkAck(ack: AckRequest): Refused | undefined {
  const { version, checkpointId, estimator, loss, metrics, rewardsAt } = ack;
  const wrong = checkHolding(ack) ?? checkWeights(ack.weights, ack.kept) ?? checkName('backend', ack.backend);
  if (wrong) return wrong;
  if (!Number.isInteger(version) || version < 1 || version > VERSION_LIMIT) return invalid('version', 'must be base.version + 1');
  if (!isUuid(checkpointId)) return invalid('checkpointId', 'must be a UUID in lower case');
  if (estimator != null && !method.safeParse(estimator).success) return invalid('estimator', 'must be {name, revision, mode}');
  if (loss !== null && !method.safeParse(loss).success) return invalid('loss', 'must be null or {name, revision, mode}');
  if (rewardsAt !== undefined && !isPosition(rewardsAt))
    return invalid('rewardsAt', 'must be a position such as trees.0:3,trees.1:41');
  const names = Object.keys(metrics);
  if (names.length > METRICS_LIMIT) return invalid('metrics', `must have at most ${METRICS_LIMIT} names`);
  const bad = names.find((name) => checkName('metrics', name) !== undefined || !Number.isFinite(metrics[name]));
  return bad === undefined
    ? undefined
    : invalid(`metrics.${cutText(bad, 80)}`, 'must be a finite number under a name of 1 to 200 characters');
}

function isPosition(text: string): boolean {
  try {
    parsePosition(text);
    return text.length <= POSITION_LIMIT;
  } catch {
    return false;
  }
}

export function invalid(field: string, rule: string): Refused {
  return refused('invalid', `${field} ${rule}`, `correct ${field} and send again`);
}

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
