import { GraphQLError } from 'graphql';
import type { StatementMeter } from '../../src/postgres/statement-meter.ts';
import type { Account } from './account.ts';
import { answerSize } from './answer-size.ts';
import type { QueryBudget } from './budgets.ts';
import { overBudget } from './over-budget.ts';
import type { QueryUse } from './query-use.ts';

const SMALLER = 'read less at once: pages (first, after), fewer aliases, or one tree or run at a time';

/**
 * Charges one query with what it uses, while it uses it: to its own budget, and its rows to the account of its caller. What is
 * over the budget ends the query: from then on every charge is refused.
 */
export class QueryMeter implements StatementMeter {
  readonly statementMs: number;
  readonly #budget: QueryBudget;
  readonly #account: Account | undefined;
  readonly #report: (use: QueryUse) => void;
  #walked = 0;
  #rows = 0;
  #bytes = 0;
  #fields = 0;
  #refusal: GraphQLError | undefined;

  /** @param report is called with what was used since it was called before. */
  constructor(budget: QueryBudget, account?: Account, report: (use: QueryUse) => void = () => undefined) {
    this.#budget = budget;
    this.#account = account;
    this.#report = report;
    this.statementMs = budget.statementMs;
  }

  /** Why the query was ended; undefined while it is within its budget. */
  get refusal(): GraphQLError | undefined {
    return this.#refusal;
  }

  /** Rows that were read. */
  get rows(): number {
    return this.#rows;
  }

  row(bytes: number): void {
    if (this.#refusal) throw this.#refusal;
    this.#rows++;
    this.#bytes += bytes;
    this.#account?.charge(1);
    if (this.#rows > this.#budget.rows) throw this.#refuse('rows of a query', this.#rows, this.#budget.rows);
    if (this.#bytes > this.#budget.bytes) throw this.#refuse('bytes read by a query', this.#bytes, this.#budget.bytes);
  }

  /** Charges the caller with rows that a statement reads and does not return. */
  walk(rows: number): void {
    this.#walked += rows;
    this.#account?.charge(rows);
  }

  late(): Error {
    const remedy = 'narrow the filter, leave out totals and counts, or read one tree or run at a time';
    return this.#refuse('milliseconds of a statement', this.statementMs, this.statementMs, remedy);
  }

  field(): void {
    if (this.#refusal) throw this.#refusal;
    if (++this.#fields > this.#budget.fields) throw this.#refuse('fields of an answer', this.#fields, this.#budget.fields);
  }

  /** Checks a whole answer before it is written. */
  answer(data: unknown): void {
    const size = answerSize(data, this.#budget.answer);
    if (size > this.#budget.answer) this.#refuse('characters of an answer', size, this.#budget.answer);
  }

  /** Ends a query that nobody waits for any more, at its next charge. */
  abandon(): void {
    this.#refusal ??= new GraphQLError('the caller left before the answer', { extensions: { code: 'TIMED_OUT' } });
  }

  /** Begins again, for the next event of a subscription, which its caller is charged with. */
  nextEvent(): void {
    this.end(0);
    this.walk(1);
  }

  /** Ends a query, or an event of a subscription, and reports what it used. @param seconds for which it was its turn. */
  end(seconds: number): void {
    this.#report({ rows: this.#rows + this.#walked, bytes: this.#bytes, seconds });
    this.#rows = 0;
    this.#walked = 0;
    this.#bytes = 0;
    this.#fields = 0;
  }

  #refuse(budget: string, used: number, allowed: number, remedy = SMALLER): GraphQLError {
    this.#refusal ??= overBudget({ budget, used, allowed, remedy });
    return this.#refusal;
  }
}
