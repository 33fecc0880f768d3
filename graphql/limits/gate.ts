import { limitOf } from '../../src/runtime/limit.ts';
import { limitExceeded } from './limit-exceeded.ts';

/** How many of what all callers ask is answered at once. */
export interface Shares {
  /** Queries of a key that are answered at once. */
  readonly running: number;
  /** Queries of a key that are answered, wait for their turn, or wait for a position. */
  readonly queries: number;
  readonly subscriptions: number;
  /** Of all keys together. */
  readonly server: { readonly running: number; readonly subscriptions: number };
  /** How long a query may wait for its turn, ms. */
  readonly waitMs: number;
}

// Three of the largest queries take below half of the heap of the thread that answers them.
const SHARES: Shares = {
  running: 2,
  queries: 128,
  subscriptions: 64,
  server: { running: 3, subscriptions: 256 },
  waitMs: 30_000,
};

type Leave = () => void;
type Enter = (signal: AbortSignal) => Promise<Leave>;

/** What one key has open. */
interface Share {
  readonly enter: Enter;
  queries: number;
  subscriptions: number;
}

/**
 * Answers so many queries at once and few of each key; the others wait, first come, first served. A key has no more than its few
 * among those that wait for the server: who asks much waits behind its own queries, not others behind it.
 */
export class Gate {
  readonly #shares: Shares;
  readonly #enter: Enter;
  readonly #keys = new Map<string, Share>();
  #subscriptions = 0;

  constructor(shares: Partial<Shares> = {}) {
    this.#shares = { ...SHARES, ...shares };
    this.#enter = placesOf(this.#shares.server.running);
  }

  /** Waits for a turn; what is returned gives it back. @throws LIMIT_EXCEEDED where it comes too late, what the signal aborts with. */
  async enter(key: string, signal: AbortSignal): Promise<Leave> {
    const { waitMs } = this.#shares;
    const late = AbortSignal.timeout(waitMs);
    const either = AbortSignal.any([signal, late]);
    return this.#turn(this.#shareOf(key), either).catch((error: unknown) => {
      if (!late.aborted || signal.aborted) throw error;
      const remedy = 'the server answers other queries; ask again later, for less at once';
      throw limitExceeded({
        limit: 'milliseconds of waiting for a turn',
        actual: waitMs,
        allowed: waitMs,
        remedy,
        retryAfter: 5,
      });
    });
  }

  /** Counts a query of a key until what is returned is called. @throws LIMIT_EXCEEDED. */
  beginQuery(key: string): Leave {
    const remedy = 'ask less often, or give the work a key of its own';
    return this.#begin(key, 'queries', { limit: 'open queries of a key', remedy, retryAfter: 1 });
  }

  /** Counts a subscription of a key until what is returned is called. @throws LIMIT_EXCEEDED. */
  beginSubscription(key: string): Leave {
    const { subscriptions: allowed } = this.#shares.server;
    if (this.#subscriptions >= allowed) {
      const remedy = 'try again later, or ask another server of this installation';
      throw limitExceeded({ limit: 'subscriptions of the server', actual: allowed + 1, allowed, remedy, retryAfter: 10 });
    }
    const remedy = 'follow several runs by one subscription (without run and tree), or end those that are not needed';
    const end = this.#begin(key, 'subscriptions', { limit: 'subscriptions of a key', remedy, retryAfter: 10 });
    this.#subscriptions++;
    return once(() => {
      this.#subscriptions--;
      end();
    });
  }

  async #turn(share: Share, signal: AbortSignal): Promise<Leave> {
    const leave = await share.enter(signal);
    try {
      const end = await this.#enter(signal);
      return once(() => {
        end();
        leave();
      });
    } catch (error) {
      leave();
      throw error;
    }
  }

  #begin(
    key: string,
    what: 'queries' | 'subscriptions',
    refusal: { readonly limit: string; readonly remedy: string; readonly retryAfter: number },
  ): Leave {
    const share = this.#shareOf(key);
    const allowed = this.#shares[what];
    if (share[what] >= allowed) throw limitExceeded({ ...refusal, actual: share[what] + 1, allowed });
    share[what]++;
    return once(() => {
      share[what]--;
      if (share.queries === 0 && share.subscriptions === 0) this.#keys.delete(key);
    });
  }

  #shareOf(key: string): Share {
    const share = this.#keys.get(key) ?? { enter: placesOf(this.#shares.running), queries: 0, subscriptions: 0 };
    this.#keys.set(key, share);
    return share;
  }
}

/** The turn of one query, which others have while it waits for something else: a position, or a moment that is folded. */
export class Turn {
  readonly #enter: () => Promise<Leave>;
  readonly #begin: () => Leave;
  #end: Leave | undefined;
  #leave: Leave | undefined;
  #away = 0;

  constructor(gate: Gate, key: string, signal: AbortSignal) {
    this.#begin = () => gate.beginQuery(key);
    this.#enter = () => gate.enter(key, signal);
  }

  /** Begins the query and waits for its turn. @throws LIMIT_EXCEEDED. */
  async take(): Promise<void> {
    this.#end = this.#begin();
    try {
      this.#leave = await this.#enter();
    } catch (error) {
      this.end();
      throw error;
    }
  }

  async whileAway<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#away++ === 0) this.#leave?.();
    try {
      return await wait();
    } finally {
      if (--this.#away === 0 && !this.#isOver()) {
        const leave = await this.#enter();
        if (this.#isOver())
          leave(); // the query ended without this field
        else this.#leave = leave;
      }
    }
  }

  end(): void {
    this.#leave?.();
    this.#end?.();
    this.#end = undefined;
  }

  #isOver(): boolean {
    return this.#end === undefined;
  }
}

/** So many places, given in the order in which they are asked for. Who leaves while it waits takes none. */
function placesOf(count: number): Enter {
  const limit = limitOf(count);
  return (signal) =>
    new Promise((entered, refused) => {
      const leave = () => refused(signal.reason);
      if (signal.aborted) return leave();
      signal.addEventListener('abort', leave, { once: true });
      void limit(async () => {
        signal.removeEventListener('abort', leave);
        if (!signal.aborted) await new Promise<void>((left) => entered(once(left)));
      });
    });
}

function once(end: () => void): Leave {
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    end();
  };
}
