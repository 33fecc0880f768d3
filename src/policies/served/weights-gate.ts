import type { LoadedWeights, ModelServer, OpenModelServer, ServedVersion } from './model-server.ts';

/** A server that holds the weights that were asked for, as long as the work that asked for them goes on. */
export interface LockedWeights extends LoadedWeights {
  readonly server: ModelServer;
}

interface Waiter {
  readonly version: ServedVersion;
  readonly signal: AbortSignal;
  readonly begin: (weights: LockedWeights) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Shares one model server among requests for several versions: requests of the version that is loaded go on side by side, one of
 * another version waits until they are answered and the weights are exchanged, and those behind it wait for their turn. So every
 * reply is drawn by one version from its first token to its last. The server is opened by the first request, and again after it
 * has gone.
 */
export class WeightsGate {
  readonly #open: OpenModelServer;
  readonly #waiting: Waiter[] = [];
  readonly #closing = new AbortController();
  #server: ModelServer | null = null;
  #loaded: { readonly version: ServedVersion; readonly held: LockedWeights } | null = null;
  #users = 0;
  #exchange: Promise<void> | null = null;

  constructor(open: OpenModelServer) {
    this.#open = open;
  }

  /** Does work while the server holds a version. @throws what opening, loading and the work throw; the signal's reason. */
  async use<T>(version: ServedVersion, signal: AbortSignal, work: (weights: LockedWeights) => Promise<T>): Promise<T> {
    const held = await this.#enter(version, signal);
    try {
      return await work(held);
    } finally {
      this.#users--;
      this.#next();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the model server is closed'));
    await this.#exchange;
    await this.#server?.close();
  }

  #enter(version: ServedVersion, signal: AbortSignal): Promise<LockedWeights> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const leave = () => {
        const place = this.#waiting.indexOf(waiter);
        if (place >= 0) this.#waiting.splice(place, 1);
        waiter.fail(signal.reason);
        this.#next();
      };
      const waiter: Waiter = {
        version,
        signal,
        begin(held) {
          signal.removeEventListener('abort', leave);
          resolve(held);
        },
        fail(error) {
          signal.removeEventListener('abort', leave);
          reject(error);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(waiter);
      this.#next();
    });
  }

  #next(): void {
    if (this.#exchange) return;
    for (let first = this.#waiting[0]; first; first = this.#waiting[0]) {
      const held = this.#heldOf(first.version);
      if (!held) break;
      this.#waiting.shift();
      this.#users++;
      first.begin(held);
    }
    const first = this.#waiting[0];
    if (!first || this.#users > 0) return;
    this.#exchange = this.#load(first).finally(() => {
      this.#exchange = null;
      this.#next();
    });
  }

  #heldOf({ folder }: ServedVersion): LockedWeights | null {
    if (this.#loaded?.version.folder !== folder || this.#loaded.held.server.gone.aborted) return null;
    return this.#loaded.held;
  }

  /** A server that goes meanwhile is opened again, once. */
  async #exchangeFor(version: ServedVersion): Promise<LockedWeights> {
    const signal = this.#closing.signal; // whoever asked may have left, and others wait for the same weights
    for (let again = false; ; again = true) {
      signal.throwIfAborted();
      if (this.#server?.gone.aborted) {
        await this.#server.close();
        this.#server = null;
      }
      this.#server ??= await this.#open(version, signal);
      const server = this.#server;
      try {
        return { ...(await server.load(version, signal)), server };
      } catch (error) {
        if (again || !server.gone.aborted) throw error;
      }
    }
  }

  /** Never rejects: who asked for the version hears of it. */
  async #load(waiter: Waiter): Promise<void> {
    const { version } = waiter;
    this.#loaded = null;
    try {
      this.#loaded = { version, held: await this.#exchangeFor(version) };
    } catch (error) {
      for (const asking of this.#waiting.filter((each) => each.version.folder === version.folder)) {
        this.#waiting.splice(this.#waiting.indexOf(asking), 1);
        asking.fail(error);
      }
    }
  }
}

const open = new Map<string, { readonly gate: WeightsGate; users: number }>();

/**
 * Shares the gate of one model server among all of this process that ask it by the same key: a large model is held once. The last
 * one to leave closes it.
 */
export function shareGate(key: string, openServer: OpenModelServer): { readonly gate: WeightsGate; leave(): Promise<void> } {
  const shared = open.get(key) ?? { gate: new WeightsGate(openServer), users: 0 };
  open.set(key, shared);
  shared.users++;
  let left = false;
  return {
    gate: shared.gate,
    async leave() {
      if (left) return;
      left = true;
      if (--shared.users > 0) return;
      open.delete(key);
      await shared.gate.close();
    },
  };
}
