import { EnvironmentError } from '../environment.ts';
import { closeRemote, createRemote, type Server } from './remote.ts';

/** An environment on the server that is ours for now. */
export interface Lease {
  readonly id: number;
  /** The server has given the same id to another environment: it was started again, and this one is no more. */
  readonly isForgotten: boolean;
}

export interface PoolOptions {
  /** Environments on the server at a time. */
  readonly limit: number;
  /** How long one waits for a lease while no leased environment is used at all, in milliseconds. */
  readonly idleLimitMs: number;
}

interface Held {
  id: number;
  isForgotten: boolean;
}

interface Waiter {
  readonly resolve: (lease: Held | null) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Holds the environments that we have on one server. A returned one is kept and lent again, since a reset makes it new: some
 * servers never free what was created (WebShop dies of it after hours), and ScienceWorld starts a Java machine for each. `close`
 * returns all of them.
 */
export class LeasePool {
  readonly #server: Server;
  readonly #options: PoolOptions;
  readonly #leased = new Map<number, Held>();
  readonly #idle: Held[] = [];
  readonly #waiters: Waiter[] = [];
  #creating = 0;
  #lastUse = performance.now();
  #isClosed = false;

  constructor(server: Server, options: PoolOptions) {
    this.#server = server;
    this.#options = options;
  }

  /** How many environments exist on the server for us. */
  get size(): number {
    return this.#leased.size + this.#idle.length + this.#creating;
  }

  /**
   * Lends an environment; waits for one where the limit is reached. @throws EnvironmentError as `createRemote`, or when nothing
   * moves.
   */
  async take(): Promise<Lease> {
    this.#mustBeOpen();
    const idle = this.#idle.pop();
    if (idle) return this.#lend(idle);
    if (this.size >= this.#options.limit) return (await this.#wait()) ?? this.#create();
    this.#creating++;
    return this.#create();
  }

  /** Takes an environment back: to be lent again, or, when its state is not known or it is gone, to be given up. */
  async giveBack(lease: Lease, condition: 'usable' | 'broken'): Promise<void> {
    const held = this.#leased.get(lease.id);
    if (held !== lease) return; // forgotten: the id is another's now, or the pool was closed
    this.#leased.delete(lease.id);
    this.#lastUse = performance.now();
    if (condition === 'usable' && !this.#isClosed) {
      const waiter = this.#waiters.shift();
      if (waiter) waiter.resolve(this.#lend(held));
      else this.#idle.push(held);
      return;
    }
    await closeRemote(this.#server, lease.id);
    this.#invite();
  }

  /** Reports that a leased environment is at work, so that the waiting callers go on waiting. */
  touch(): void {
    this.#lastUse = performance.now();
  }

  /** Refuses the waiting callers and returns every environment to the server. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(closed());
    const ids = [...this.#leased.keys(), ...this.#idle.map(({ id }) => id)];
    this.#leased.clear();
    this.#idle.length = 0;
    await Promise.all(ids.map((id) => closeRemote(this.#server, id)));
  }

  /** Creates an environment in the place that was counted for it before. */
  async #create(): Promise<Lease> {
    let id: number;
    try {
      id = await createRemote(this.#server);
    } catch (error) {
      this.#creating--;
      this.#invite();
      throw error;
    }
    this.#creating--;
    if (this.#isClosed) {
      await closeRemote(this.#server, id);
      throw closed();
    }
    this.#forget(id);
    return this.#lend({ id, isForgotten: false });
  }

  /** A server numbers its environments again after a restart, so an id that we hold already means that ours is no more. */
  #forget(id: number): void {
    const older = this.#leased.get(id);
    if (older) older.isForgotten = true;
    const at = this.#idle.findIndex((idle) => idle.id === id);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  #lend(held: Held): Held {
    this.#leased.set(held.id, held);
    this.#lastUse = performance.now();
    return held;
  }

  /** A place is free: the next who waits may create an environment. */
  #invite(): void {
    if (this.size >= this.#options.limit) return;
    const waiter = this.#waiters.shift();
    if (!waiter) return;
    this.#creating++; // counted now: another could ask before the one who waited runs
    waiter.resolve(null);
  }

  #wait(): Promise<Held | null> {
    const { idleLimitMs, limit } = this.#options;
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        resolve: (lease) => {
          clearTimeout(timer);
          resolve(lease);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      const look = (): void => {
        const left = this.#lastUse + idleLimitMs - performance.now();
        if (left > 0) {
          timer = setTimeout(look, left + 1);
          return;
        }
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        const all = `all ${limit} environments that may be open at a time are taken, and none was used for ${idleLimitMs} ms; raise ?limit= in the address, or lower --concurrency`;
        waiter.reject(new EnvironmentError('unreachable', all, { retryable: true }));
      };
      let timer = setTimeout(look, idleLimitMs);
      this.#waiters.push(waiter);
    });
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw closed();
  }
}

function closed(): EnvironmentError {
  return new EnvironmentError('gone', 'the environment was closed');
}
