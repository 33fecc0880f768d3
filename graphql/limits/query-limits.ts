import { GraphQLError } from 'graphql';
import { exceeded } from './exceeded.ts';
import type { Limits } from './limits.ts';

const SMALLER = 'read less at once: pages (first, after), fewer aliases, or one tree or run at a time';
const AROUND = 4; // quotes, colon and comma of a name, or the like of a value

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

  /** Checks a whole answer before it is written. */
  checkAnswer(data: unknown): void {
    const allowed = this.#allowed.answerCharacters;
    const size = answerSize(data, allowed);
    if (size > allowed) this.#refuse('characters of an answer', size, allowed);
  }

  /** Ends a query that nobody waits for any more, at its next count. */
  abandon(): void {
    this.#refusal ??= new GraphQLError('the caller left before the answer', { extensions: { code: 'TIMED_OUT' } });
  }

  #check(limit: string, actual: number, allowed: number): void {
    if (actual > allowed) this.#refuse(limit, actual, allowed);
    if (this.#refusal) throw this.#refusal;
  }

  #refuse(limit: string, actual: number, allowed: number): void {
    this.#refusal ??= exceeded({ limit, actual, allowed, remedy: SMALLER });
  }
}

/** Returns about how many characters a value has as JSON, or something above `limit` as soon as that is certain. */
function answerSize(value: unknown, limit: number): number {
  let size = 0;
  const open: unknown[] = [value];
  while (open.length > 0 && size <= limit) {
    const next = open.pop();
    if (typeof next === 'string') size += next.length + AROUND;
    else if (typeof next !== 'object' || next === null) size += 2 * AROUND;
    else if (next instanceof Date) size += 6 * AROUND;
    else
      for (const [name, part] of Object.entries(next)) {
        size += name.length + AROUND;
        open.push(part);
      }
  }
  return size;
}
