import type { ServerResponse } from 'node:http';
import type { Principal } from '../postgres/principal.ts';
import { openCache } from '../runtime/cache.ts';
import { type Reply, refuse } from './reply.ts';

const MINUTE_MS = 60_000;
const KEYS = 10_000; // of which the ones that asked last are remembered

/** What a key may still ask for, as of a time: it fills up again within a minute. */
interface Allowance {
  requests: number;
  bytes: number;
  at: number;
}

/**
 * Holds every key to its quota of requests and of bytes per minute. Bytes are charged when a request has ended, by what its
 * connection brought meanwhile, so that one request may go over and the next ones wait for it. Each server of an installation
 * counts for itself. Returns the refusal of a key that has used up its quota, or undefined.
 */
export function keyQuotas(clock: () => number = Date.now): (principal: Principal, res: ServerResponse) => Reply | undefined {
  const allowances = openCache<Allowance>({ max: KEYS });
  return ({ keyId, name, quota }, res) => {
    if (keyId === null || !quota) return undefined;
    const { requestsPerMinute, bytesPerMinute } = quota;
    if (requestsPerMinute === null && bytesPerMinute === null) return undefined;
    const now = clock();
    const most = { requests: requestsPerMinute ?? 0, bytes: bytesPerMinute ?? 0 };
    const left = allowances.get(keyId) ?? { ...most, at: now };
    allowances.set(keyId, left);
    for (const what of ['requests', 'bytes'] as const)
      left[what] = Math.min(most[what], left[what] + (most[what] * Math.max(0, now - left.at)) / MINUTE_MS);
    left.at = now;
    if (requestsPerMinute !== null && left.requests < 1)
      return over(name, `${requestsPerMinute} requests`, ((1 - left.requests) * MINUTE_MS) / requestsPerMinute);
    if (bytesPerMinute !== null && left.bytes <= 0)
      return over(name, `${bytesPerMinute} bytes`, ((1 - left.bytes) * MINUTE_MS) / bytesPerMinute);
    left.requests -= 1;
    const { socket } = res;
    const before = socket?.bytesRead ?? 0;
    res.once('close', () => {
      left.bytes -= Math.max(0, (socket?.bytesRead ?? 0) - before);
    });
    return undefined;
  };
}

function over(name: string, quota: string, waitMs: number): Reply {
  return refuse(
    429,
    `the key ${JSON.stringify(name)} has used its quota of ${quota} a minute`,
    'send again after Retry-After seconds; `espalier keys create --rate --bytes` makes keys with larger quotas',
    { headers: { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))) } },
  );
}
