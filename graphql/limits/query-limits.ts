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

  /** @param name the key that it has in the answer. */
  countField(name: string): void {
    this.#check('fields of an answer', ++this.#fields, this.#allowed.answerFields);
    this.#countCharacters(name.length);
  }

  /** Counts the characters of what a field without fields comes to. */
  readonly countValue = <T>(value: T): T => {
    this.#countCharacters(charactersOf(value));
    return value;
  };

  /** Ends a query that nobody waits for any more, at its next count. */
  abandon(): void {
    this.#refusal ??= new GraphQLError('the caller left before the answer', { extensions: { code: 'TIMED_OUT' } });
  }

  #countCharacters(characters: number): void {
    this.#characters += characters;
    this.#check('characters of an answer', this.#characters, this.#allowed.answerCharacters);
  }

  #check(limit: string, actual: number, allowed: number): void {
    if (actual > allowed) this.#refusal ??= limitExceeded({ limit, actual, allowed, remedy: SMALLER });
    if (this.#refusal) throw this.#refusal;
  }
}

const CHARACTERS_OF_A_NUMBER = 8; // about

function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return CHARACTERS_OF_A_NUMBER;
  let sum = 0;
  if (Array.isArray(value)) for (const each of value) sum += charactersOf(each);
  else for (const [key, each] of Object.entries(value)) sum += key.length + charactersOf(each);
  return sum;
}
