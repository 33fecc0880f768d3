import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isIPv6, type Socket } from 'node:net';

export interface Crowd {
  /** Connections that are held at once. */
  readonly limit: number;
  /** Of those, connections of one address; of IPv6 of one network of 64 bits, which one subscriber has whole. */
  readonly perAddress: number;
  /**
   * Ends a connection that has to go; what was asked on it and is not answered in full. One that rests between requests is ended
   * without it.
   */
  readonly cut: (socket: Socket, unanswered: readonly ServerResponse[]) => void;
}

/**
 * Keeps a server within its connections so that those which ask nothing do not keep out those which do: for one too many the
 * connection is cut that keeps the server waiting for longest. One with a whole request in flight is never cut for that, unless
 * its client does not read the answer; where every connection has one, the new one is cut. An address that has all that are its
 * own loses one of its own. Returns how many requests of a
 * connection are in flight, the one that just came among them.
 */
export function evictConnections(server: Server, { limit, perAddress, cut }: Crowd): (socket: Socket) => number {
  const held = new Map<Socket, Held>(); // in the order in which they began to keep us waiting

  server.on('connection', (socket: Socket) => {
    socket.once('close', () => held.delete(socket));
    const address = addressOf(socket.remoteAddress);
    const own = perAddress < limit ? new Map([...held].filter(([, of]) => of.address === address)) : undefined;
    const full = own && own.size >= perAddress ? own : held.size >= limit ? held : undefined;
    if (full) {
      const last = longestWaiting(full);
      if (last === undefined) return cut(socket, []);
      const { inFlight = new Set<ServerResponse>(), served = false } = held.get(last) ?? {};
      held.delete(last);
      if (served && inFlight.size === 0)
        last.destroy(); // it rests: what is said now would be taken for the answer to what it asks next
      else cut(last, [...inFlight]);
    }
    held.set(socket, { address, inFlight: new Set(), served: false });
  });

  server.prependListener('request', ({ socket }: IncomingMessage, res: ServerResponse) => {
    const of = held.get(socket);
    if (!of) return; // cut, with this request on its way
    of.inFlight.add(res);
    res.once('close', () => {
      of.inFlight.delete(res);
      of.served = true;
      if (held.delete(socket)) held.set(socket, of);
    });
  });
  return (socket) => held.get(socket)?.inFlight.size ?? 0;
}

interface Held {
  readonly address: string;
  readonly inFlight: Set<ServerResponse>;
  /** Something was answered on it. */
  served: boolean;
}

/** Returns the part of an address that one subscriber has whole: of IPv6 its network of 64 bits. */
export function addressOf(address = ''): string {
  const mapped = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!isIPv6(mapped)) return mapped;
  const [before = '', after] = mapped.split('::');
  const groups = before === '' ? [] : before.split(':');
  const behind = after === undefined || after === '' ? [] : after.split(':');
  const zeros = after === undefined ? [] : Array.from({ length: Math.max(0, 8 - groups.length - behind.length) }, () => '0');
  return [...groups, ...zeros, ...behind].slice(0, 4).join(':');
}

/**
 * Who is cut first: one that never asked, one that rests between requests, one whose request is not whole, one that does not read
 * its answer.
 */
function longestWaiting(held: ReadonlyMap<Socket, Held>): Socket | undefined {
  let found: { readonly socket: Socket; readonly rank: number } | undefined;
  for (const [socket, of] of held) {
    const rank = rankOf(socket, of);
    if (rank === null || (found && found.rank <= rank)) continue;
    found = { socket, rank };
    if (rank === 0) break;
  }
  return found?.socket;
}

function rankOf(socket: Socket, { inFlight, served }: Held): number | null {
  if (inFlight.size === 0) return served ? 1 : 0;
  if ([...inFlight].every(({ req }) => !req.complete)) return 2;
  return socket.writableLength > 0 ? 3 : null;
}
