import { GraphQLError } from 'graphql';

/** A budget that does not allow more: its name, what was used of what is allowed, the remedy. */
export interface OverBudget {
  readonly budget: string;
  readonly used: number;
  readonly allowed: number;
  readonly remedy: string;
  /** After how many seconds the same may be asked again; left out where waiting changes nothing. */
  readonly retryAfter?: number;
}

/** Makes the error of a budget: 400 where the query has to change, 429 where it may come again. */
export function overBudget({ budget, used, allowed, remedy, retryAfter }: OverBudget): GraphQLError {
  const http =
    retryAfter === undefined
      ? { status: 400 }
      : { status: 429, headers: { 'retry-after': String(Math.max(1, Math.ceil(retryAfter))) } };
  return new GraphQLError(`the budget "${budget}" allows ${allowed}, and ${used} are used; ${remedy}`, {
    extensions: { code: 'LIMIT_EXCEEDED', limit: budget, actual: String(used), allowed, http },
  });
}
