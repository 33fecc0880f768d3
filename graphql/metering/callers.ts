import { Account } from './account.ts';
import type { Budgets, CallerBudget } from './budgets.ts';
import { once } from './once.ts';
import { overBudget } from './over-budget.ts';
import { type Asking, Turns } from './turns.ts';

/** Who asks, as the server knows it. */
export interface Caller {
  /** The id of its key; `local` without one. */
  readonly key: string;
  /** The rows in a minute that its key allows; null for as many as any key may read. */
  readonly rowsPerMinute: number | null;
  readonly connection: string;
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

  accountsOf({ key, rowsPerMinute, connection }: Caller): Asking {
    const budget = this.#budgets.key;
    return {
      key: this.#account('key', key, rowsPerMinute === null ? budget : { ...budget, rowsPerMinute }),
      connection: this.#account('connection', `${key} ${connection}`, this.#budgets.connection),
    };
  }

  /** Lets a subscription begin. Returns what ends it. @throws LIMIT_EXCEEDED. */
  beginSubscription({ key, connection }: Asking): () => void {
    const { subscriptions: allowed } = this.#budgets.server;
    if (this.#subscriptions >= allowed)
      throw overBudget({
        budget: 'subscriptions of the server',
        used: this.#subscriptions + 1,
        allowed,
        remedy: 'try again later, or ask another server of this installation',
        retryAfter: 10,
      });
    const ofConnection = connection.beginSubscription();
    try {
      const ofKey = key.beginSubscription();
      this.#subscriptions++;
      return once(() => {
        this.#subscriptions--;
        ofKey();
        ofConnection();
      });
    } catch (error) {
      ofConnection();
      throw error;
    }
  }

  #account(kind: string, name: string, budget: CallerBudget): Account {
    const id = `${kind} ${name}`;
    const known = this.#accounts.get(id) ?? new Account(kind, budget, this.#clock);
    this.#accounts.delete(id);
    this.#accounts.set(id, known); // the one used last comes last
    if (this.#accounts.size > KEPT)
      for (const [other, account] of this.#accounts) {
        if (other !== id && account.idle()) this.#accounts.delete(other);
        if (this.#accounts.size <= KEPT) break;
      }
    return known;
  }
}
