import { GraphQLError } from 'graphql';
import { limitExceeded } from './limit-exceeded.ts';
import type { Limits } from './limits.ts';

const SMALLER = 'read less at once: pages (first, after), fewer aliases, or one tree or run at a time';

type Allowed = Pick<Limits, 'rows' | 'answerFields' | 'answerCharacters'>;

/** Counts what one query reads and answers. What reads over a limit ends the query: from then on every count is refused. */
export class QueryLimits {
  readonly #allowed: Allowed;
  #rows = 0;
  #fields = 0;
  #characters = 0;
  #refusal: GraphQLError | undefined;

  constructor(allowed: Allowed) {
    this.#allowed = allowed;
  }

  /** Why the query was ended; undefined while it is within its limits. */
  get refusal(): GraphQLError | undefined {
    return this.#refusal;
  }

  readonly countRows = (rows: number): void => {
    this.#rows += rows;
    this.#check('rows of a query', this.#rows, this.#allowed.rows);
  };

  /**
   * Returns why an answer is too large to be sent; undefined where it is not. It holds a text that several aliases name once, and
   * would be written with a copy for each.
   */
  refusalOf(answer: unknown): GraphQLError | undefined {
    try {
      this.#countAnswer(answer);
      return undefined;
    } catch (error) {
      if (error instanceof GraphQLError) return error;
      throw error;
    }
  }

  /** Ends a query that nobody waits for any more, at its next count. */
  abandon(): void {
    this.#refusal ??= new GraphQLError('the caller left before the answer', { extensions: { code: 'TIMED_OUT' } });
  }

  #countAnswer(value: unknown): void {
    if (typeof value !== 'object' || value === null) {
      this.#characters += typeof value === 'string' ? value.length : CHARACTERS_OF_A_NUMBER;
      return;
    }
    if (Array.isArray(value)) {
      for (const each of value) this.#countAnswer(each);
      return;
    }
    const object = value as Readonly<Record<string, unknown>>;
    for (const name in object) {
      this.#fields++;
      this.#characters += name.length;
      this.#countAnswer(object[name]);
    }
    this.#check('fields of an answer', this.#fields, this.#allowed.answerFields);
    this.#check('characters of an answer', this.#characters, this.#allowed.answerCharacters);
  }

  #check(limit: string, actual: number, allowed: number): void {
    if (actual > allowed) this.#refusal ??= limitExceeded({ limit, actual, allowed, remedy: SMALLER });
    if (this.#refusal) throw this.#refusal;
  }
}

const CHARACTERS_OF_A_NUMBER = 8; // about
