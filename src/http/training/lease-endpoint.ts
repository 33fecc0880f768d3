import type { IncomingMessage } from 'node:http';
import type { Notices } from '../../postgres/notices.ts';
import type { LeaseService } from '../../training/leases/lease-service.ts';
import type { Leased, Nothing, Refused } from '../../training/leases/protocol.ts';
import type { LeaseBody } from './requests.ts';

const LOOK_MS = 500; // leases that run out, and notices that were lost, are told by nobody

/**
 * Leases a batch, waiting up to `waitMs` for one to be planned or given back. Returns undefined when the client went away
 * meanwhile: what is not asked for any more is not leased.
 */
export async function leaseWaiting(
  service: LeaseService,
  notices: Notices | undefined,
  { waitMs, layout: _, baseVersion, ...request }: LeaseBody,
  req: IncomingMessage,
): Promise<Leased | Nothing | Refused | undefined> {
  const until = performance.now() + waitMs;
  const asked = { ...request, ...(baseVersion === undefined ? {} : { baseVersion }) };
  const gone = new AbortController();
  const onClose = () => gone.abort();
  req.socket.once('close', onClose);
  try {
    for (;;) {
      const seen = notices?.count ?? 0;
      const answer = await service.lease(asked);
      const left = until - performance.now();
      if (answer.kind !== 'nothing' || left <= 0) return answer;
      await pause(notices, seen, Math.min(left, LOOK_MS), gone.signal);
      if (gone.signal.aborted) return undefined;
    }
  } finally {
    req.socket.off('close', onClose);
  }
}

/** Waits for a sign that something was folded, or for the limit. */
async function pause(notices: Notices | undefined, seen: number, limitMs: number, signal: AbortSignal): Promise<void> {
  if (notices) return notices.beyond(seen, limitMs, signal);
  await new Promise<void>((resolve) => {
    const timer = setTimeout(end, limitMs);
    signal.addEventListener('abort', end);
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    }
  });
}
