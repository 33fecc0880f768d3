import type { Account } from './account.ts';
import { overBudget } from './over-budget.ts';
import type { Turn, Turns } from './turns.ts';

/** The place of one query among those of all callers: admitted, then in turn, except while it waits for something else. */
export class Place {
  readonly #turns: Turns;
  readonly #account: Account;
  readonly #signal: AbortSignal;
  readonly #waitMs: number;
  #turn: Turn | undefined;
  #away = 0;
  #left: (() => void) | undefined;
  #since = 0;
  #milliseconds = 0;

  /** @param waitMs how long it may wait for a turn. */
  constructor(turns: Turns, account: Account, signal: AbortSignal, waitMs: number) {
    this.#turns = turns;
    this.#waitMs = waitMs;
    this.#account = account;
    this.#signal = signal;
  }

  /** Begins the query and waits for its turn. @throws LIMIT_EXCEEDED where its caller has used up a budget. */
  async take(): Promise<void> {
    this.#left = this.#account.beginQuery();
    try {
      this.#hold(await this.#wait());
    } catch (error) {
      this.#left();
      throw error;
    }
  }

  /** Lets others have the turn while this query waits: for a position, or for a moment that is folded. */
  async whileAway<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#away++ === 0) this.#giveBack();
    try {
      return await wait();
    } finally {
      if (--this.#away === 0 && !this.#over()) {
        const turn = await this.#wait();
        if (this.#over())
          turn(); // the query ended without this field
        else this.#hold(turn);
      }
    }
  }

  async #wait(): Promise<Turn> {
    const late = AbortSignal.timeout(this.#waitMs);
    try {
      return await this.#turns.take(this.#account, AbortSignal.any([this.#signal, late]));
    } catch (error) {
      if (!late.aborted) throw error;
      const remedy = 'the server answers other queries; ask again later, for less at once';
      const used = this.#waitMs;
      throw overBudget({ budget: 'milliseconds of waiting for a turn', used, allowed: used, remedy, retryAfter: 5 });
    }
  }

  #over(): boolean {
    return this.#left === undefined;
  }

  leave(): void {
    this.#giveBack();
    this.#left?.();
    this.#left = undefined;
  }

  /** For how long it was its turn. */
  get seconds(): number {
    return this.#milliseconds / 1_000;
  }

  #hold(turn: Turn): void {
    this.#turn = turn;
    this.#since = performance.now();
  }

  #giveBack(): void {
    if (!this.#turn) return;
    this.#turn();
    this.#turn = undefined;
    this.#milliseconds += performance.now() - this.#since;
  }
}
