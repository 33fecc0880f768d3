import type { Account } from './account.ts';
import { once } from './once.ts';
import type { Asking, Turn, Turns } from './turns.ts';

/** The place of one query among those of its callers: admitted, then in turn, except while it waits for something else. */
export class Place {
  readonly #turns: Turns;
  readonly #asking: Asking;
  readonly #signal: AbortSignal;
  #turn: Turn | undefined;
  #away = 0;
  #left: (() => void) | undefined;

  constructor(turns: Turns, asking: Asking, signal: AbortSignal) {
    this.#turns = turns;
    this.#asking = asking;
    this.#signal = signal;
  }

  /** Begins the query and waits for its turn. @throws LIMIT_EXCEEDED where its caller has used up a budget. */
  async take(): Promise<void> {
    const ends = admit([this.#asking.connection, this.#asking.key]);
    this.#left = once(() => {
      for (const end of ends) end();
    });
    try {
      this.#turn = await this.#turns.take(this.#asking, this.#signal);
    } catch (error) {
      this.#left();
      throw error;
    }
  }

  /** Lets others have the turn while this query waits: for a position, or for a moment that is folded. */
  async whileAway<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#away++ === 0) {
      this.#turn?.();
      this.#turn = undefined;
    }
    try {
      return await wait();
    } finally {
      if (--this.#away === 0 && !this.#over()) {
        const turn = await this.#turns.take(this.#asking, this.#signal);
        if (this.#over())
          turn(); // the query ended without this field
        else this.#turn = turn;
      }
    }
  }

  #over(): boolean {
    return this.#left === undefined;
  }

  leave(): void {
    this.#turn?.();
    this.#left?.();
    this.#turn = undefined;
    this.#left = undefined;
  }
}

function admit(accounts: readonly Account[]): (() => void)[] {
  const ends: (() => void)[] = [];
  try {
    for (const account of accounts) ends.push(account.beginQuery());
    return ends;
  } catch (error) {
    for (const end of ends) end();
    throw error;
  }
}
