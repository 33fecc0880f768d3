import type { ServerResponse } from 'node:http';
import type { Principal } from '../postgres/principal.ts';
import { type Reply, refuse } from './reply.ts';

/**
 * Bounds the requests of one key that are answered at the same time, waits for batches and event streams among them: a client
 * that asks and asks takes the places of its own key, and no one else's. Returns the refusal of one too many, or undefined.
 */
export function boundRequests(limit: number): (principal: Principal, res: ServerResponse) => Reply | undefined {
  const open = new Map<string, number>();
  return ({ keyId, name, scopes }, res) => {
    if (scopes.length === 0) return undefined; // for what needs nothing
    const of = keyId ?? 'local';
    const held = open.get(of) ?? 0;
    if (held >= limit)
      return refuse(
        429,
        `${limit} requests of ${JSON.stringify(name)} are being answered`,
        'read their answers first; ESPALIER_MAX_REQUESTS_PER_KEY allows more',
        { headers: { 'retry-after': '1' } },
      );
    open.set(of, held + 1);
    res.once('close', () => {
      const left = (open.get(of) ?? 1) - 1;
      if (left > 0) open.set(of, left);
      else open.delete(of);
    });
    return undefined;
  };
}
