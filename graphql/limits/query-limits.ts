import { GraphQLError } from 'graphql';
import { limitExceeded } from './limit-exceeded.ts';
import type { Limits } from './limits.ts';

const SMALLER = 'read less at once: pages (first, after), fewer aliases, or one tree or run at a time';

type Allowed = Pick<Limits, 'rows' | 'answerFields' | 'answerCharacters'>;

/** Counts what one query reads and answers. What is over a limit ends the query: from then on every count is refused. */
export class QueryLimits {
  readonly #allowed: Allowed;
  #rows = 0;
  #fields = 0;
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

  countField(): void {
    this.#check('fields of an answer', ++this.#fields, this.#allowed.answerFields);
  }

  /** Writes an answer as JSON, or the one error that says that it is over a limit. */
  readonly write = (result: unknown): string => {
    const written = JSON.stringify(result);
    const allowed = this.#allowed.answerCharacters;
    if (written.length <= allowed) return written;
    this.#refuse('characters of an answer', written.length, allowed);
    return JSON.stringify({ errors: [this.#refusal] });
  };

  /** Ends a query that nobody waits for any more, at its next count. */
  abandon(): void {
    this.#refusal ??= new GraphQLError('the caller left before the answer', { extensions: { code: 'TIMED_OUT' } });
  }

  #check(limit: string, actual: number, allowed: number): void {
    if (actual > allowed) this.#refuse(limit, actual, allowed);
    if (this.#refusal) throw this.#refusal;
  }

  #refuse(limit: string, actual: number, allowed: number): void {
    this.#refusal ??= limitExceeded({ limit, actual, allowed, remedy: SMALLER });
  }
}
