import type pg from 'pg';
import { type SessionAttrs, sessionAttrsOf, splitHosts } from '../runtime/postgres-address.ts';

/** The servers that an address names, `postgres://a:5432,b:5432/db?target_session_attrs=primary`, and the one that is used. */
export interface Hosts {
  /** How often to try until each server had its turn; twice where one of another kind is taken in the end. */
  readonly tries: number;
  /** The address of the server that is tried next: the one that answered last. */
  current(): string;
  /** Goes on to the server behind one that failed, unless somebody did so already. */
  skip(failed: string): void;
  /** Checks that a server is of the kind that the address asks for. @throws WrongServer. */
  check(client: pg.ClientBase): Promise<void>;
}

/** A server answers, and is not of the kind that was asked for. */
export class WrongServer extends Error {
  override readonly name = 'WrongServer';
  readonly code = 'ECONNREFUSED'; // waited out as a server that does not answer: after a failover one of them is the right one
}

const WITHOUT_STANDBY_MS = 30_000; // each look costs a connection to the primary, and as long as the standby takes to fail

const known = new Map<string, Hosts>(); // pools of one address go to the same server

/** Returns the servers of an address. @throws RangeError where it cannot be read. */
export function hostsOf(url: string): Hosts {
  const hosts = known.get(url) ?? readHosts(url);
  known.set(url, hosts);
  return hosts;
}

function readHosts(url: string): Hosts {
  const urls = splitHosts(url);
  const wanted = sessionAttrsOf(url);
  let at = 0;
  let skipped = 0; // since a server was right
  let anyUntil = 0; // when a standby is looked for again after none was there
  const current = () => urls[at] as string; // there is one at least
  return {
    tries: wanted === 'prefer-standby' ? 2 * urls.length : urls.length,
    current,
    skip(failed) {
      if (failed !== current()) return;
      at = (at + 1) % urls.length;
      if (++skipped >= urls.length) anyUntil = performance.now() + WITHOUT_STANDBY_MS;
    },
    async check(client) {
      const isAnyGood = wanted === 'any' || (wanted === 'prefer-standby' && performance.now() < anyUntil);
      if (!isAnyGood && !(await isOf(client, wanted)))
        throw new WrongServer(
          `it is not ${wanted === 'prefer-standby' ? 'standby' : wanted}, which target_session_attrs asks for`,
        );
      skipped = 0;
    },
  };
}

async function isOf(client: pg.ClientBase, wanted: SessionAttrs): Promise<boolean> {
  const { rows } = await client.query<{ standby: boolean; readOnly: boolean }>(
    `select pg_is_in_recovery() as standby, current_setting('transaction_read_only')::boolean as "readOnly"`,
  );
  const [{ standby = false, readOnly = false } = {}] = rows;
  if (wanted === 'primary') return !standby;
  if (wanted === 'read-write') return !readOnly;
  return wanted === 'read-only' ? readOnly : standby;
}
