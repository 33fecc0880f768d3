import type { Lease, RefusalCode, Refused } from '../../training/leases/protocol.ts';
import type { Layout } from '../../training/rows/layout.ts';
import { json, type Reply } from '../reply.ts';

const STATUS: Readonly<Record<RefusalCode, number>> = {
  invalid: 400,
  'unknown-policy': 404,
  'unknown-lease': 404,
  'unknown-batch': 404,
  'not-next': 409,
  'stale-fence': 409,
  'stale-base': 409,
  'version-conflict': 409,
  'already-acked': 409,
  'already-registered': 409,
};

/** Answers a refusal of the lease service: the form of the other endpoints, with the code that a program decides by. */
export function refusalReply({ code, message, remedy }: Refused): Reply {
  return json(STATUS[code], { error: { code, message, remedy } });
}

/** Answers a lease: what to train, from what, until when, and where the rows are. */
export function leaseReply(lease: Lease, layout: Layout): Reply {
  return json(200, {
    ...lease,
    deadline: lease.deadline.toISOString(),
    rows: `/v1/training/leases/${lease.leaseId}/rows?layout=${layout}`,
  });
}

/** Answers 204: nothing to be had now. `Retry-After` says when another's lease ends, if one stands in the way. */
export function nothingReply(busyUntil: Date | null, now: number): Reply {
  const seconds = busyUntil === null ? 1 : Math.min(60, Math.max(1, Math.ceil((busyUntil.getTime() - now) / 1_000)));
  return { status: 204, headers: { 'retry-after': String(seconds) }, body: '' };
}
