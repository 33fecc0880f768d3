import type { CallerBudget } from './budgets.ts';
import { once } from './once.ts';
import { overBudget } from './over-budget.ts';

const MINUTE = 60_000;
const MORE_KEYS = 'ask less often, read pages, or give the work a key of its own (`espalier keys create --rows-per-minute`)';

/**
 * What one key uses: rows in the last minute, queries, subscriptions. Rows are a bucket that fills again evenly: a query may begin
 * while something is left.
 */
export class Account {
  readonly budget: CallerBudget;
  readonly #clock: () => number;
  #left: number;
  #filledAt: number;
  #queries = 0;
  #subscriptions = 0;
  running = 0;
  /** The turn that it had last: who has waited longest is next. */
  lastTurn = 0;

  constructor(budget: CallerBudget, clock: () => number) {
    this.budget = budget;
    this.#clock = clock;
    this.#left = budget.rowsPerMinute;
    this.#filledAt = clock();
  }

  charge(rows: number): void {
    this.#left -= rows;
  }

  /** Lets a query begin. Returns what ends it. @throws LIMIT_EXCEEDED with the budget that is used up. */
  beginQuery(): () => void {
    const { rowsPerMinute, queries } = this.budget;
    this.#fill();
    if (this.#left <= 0)
      throw overBudget({
        budget: 'rows in a minute of a key',
        used: rowsPerMinute - this.#left,
        allowed: rowsPerMinute,
        remedy: MORE_KEYS,
        retryAfter: ((1 - this.#left) / rowsPerMinute) * (MINUTE / 1_000),
      });
    if (this.#queries >= queries)
      throw overBudget({
        budget: 'open queries of a key',
        used: this.#queries + 1,
        allowed: queries,
        remedy: MORE_KEYS,
        retryAfter: 1,
      });
    this.#queries++;
    return once(() => this.#queries--);
  }

  /** Lets a subscription begin. Returns what ends it. @throws LIMIT_EXCEEDED. */
  beginSubscription(): () => void {
    const { subscriptions } = this.budget;
    if (this.#subscriptions >= subscriptions)
      throw overBudget({
        budget: 'subscriptions of a key',
        used: this.#subscriptions + 1,
        allowed: subscriptions,
        remedy: 'follow several runs by one subscription (without run and tree), or end those that are not needed',
        retryAfter: 10,
      });
    this.#subscriptions++;
    return once(() => this.#subscriptions--);
  }

  /** How long until a row may be read again, ms; 0 where one may be read now. */
  owedMs(): number {
    this.#fill();
    return this.#left > 0 ? 0 : ((1 - this.#left) / this.budget.rowsPerMinute) * MINUTE;
  }

  /** Whether forgetting it changes nothing. */
  idle(): boolean {
    this.#fill();
    return this.#queries === 0 && this.#subscriptions === 0 && this.#left >= this.budget.rowsPerMinute;
  }

  #fill(): void {
    const now = this.#clock();
    const { rowsPerMinute } = this.budget;
    this.#left = Math.min(rowsPerMinute, this.#left + ((now - this.#filledAt) / MINUTE) * rowsPerMinute);
    this.#filledAt = now;
  }
}
