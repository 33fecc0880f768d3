import type { Account } from './account.ts';

/** The right to be answered now. Again does nothing. */
export type Turn = () => void;

interface Waiter {
  readonly account: Account;
  readonly order: number;
  readonly begin: () => void;
}

/**
 * Answers so many queries at once, and lets the others wait. Next is the key that waited longest since its last turn, within it
 * the first query to come: who asks much waits behind its own queries, not others behind it.
 */
export class Turns {
  readonly #limit: number;
  #waiting: Waiter[] = [];
  #running = 0;
  #turn = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Waits for a turn. @throws what the signal aborts with. */
  async take(account: Account, signal: AbortSignal): Promise<Turn> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        reject(signal.reason);
      };
      const begin = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const waiter: Waiter = { account, order: this.#turn++, begin };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(waiter);
      this.#next();
    });
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#running--;
      account.running--;
      this.#next();
    };
  }

  #next(): void {
    while (this.#running < this.#limit) {
      const next = this.#waiting.filter(mayRun).reduce<Waiter | undefined>((a, b) => (a && before(a, b) ? a : b), undefined);
      if (!next) return;
      this.#waiting = this.#waiting.filter((other) => other !== next);
      this.#running++;
      next.account.running++;
      next.account.lastTurn = ++this.#turn;
      next.begin();
    }
  }
}

function mayRun({ account }: Waiter): boolean {
  return account.running < account.budget.running;
}

function before(a: Waiter, b: Waiter): boolean {
  return (a.account.lastTurn - b.account.lastTurn || a.order - b.order) < 0;
}
