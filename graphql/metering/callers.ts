import { Account } from './account.ts';
import type { Budgets } from './budgets.ts';
import { once } from './once.ts';
import { overBudget } from './over-budget.ts';
import { Turns } from './turns.ts';

/** Who asks, as the server knows it. */
export interface Caller {
  /** The id of its key; `local` without one. */
  readonly key: string;
  /** The rows in a minute that its key allows; null for as many as any key may read. */
  readonly rowsPerMinute: number | null;
}

const KEPT = 1_000; // accounts; idle ones go first

/** The accounts of all callers of this process, and the turns that they take. */
export class Callers {
  readonly turns: Turns;
  readonly #budgets: Budgets;
  readonly #clock: () => number;
  readonly #accounts = new Map<string, Account>();
  #subscriptions = 0;

  constructor(budgets: Budgets, clock: () => number) {
    this.#budgets = budgets;
    this.#clock = clock;
    this.turns = new Turns(budgets.server.running);
  }

  accountOf({ key, rowsPerMinute }: Caller): Account {
    const budget = rowsPerMinute === null ? this.#budgets.key : { ...this.#budgets.key, rowsPerMinute };
    const account = this.#accounts.get(key) ?? new Account(budget, this.#clock);
    this.#accounts.delete(key);
    this.#accounts.set(key, account); // the one used last comes last
    if (this.#accounts.size > KEPT)
      for (const [other, idle] of this.#accounts) {
        if (other !== key && idle.idle()) this.#accounts.delete(other);
        if (this.#accounts.size <= KEPT) break;
      }
    return account;
  }

  /** Lets a subscription begin. Returns what ends it. @throws LIMIT_EXCEEDED. */
  beginSubscription(account: Account): () => void {
    const { subscriptions: allowed } = this.#budgets.server;
    if (this.#subscriptions >= allowed)
      throw overBudget({
        budget: 'subscriptions of the server',
        used: this.#subscriptions + 1,
        allowed,
        remedy: 'try again later, or ask another server of this installation',
        retryAfter: 10,
      });
    const end = account.beginSubscription();
    this.#subscriptions++;
    return once(() => {
      this.#subscriptions--;
      end();
    });
  }
}
