/** What one query may use while it is answered, charged as it is used. */
export interface QueryBudget {
  /** Rows of all its statements. */
  readonly rows: number;
  /** Bytes of those rows, as Postgres sends them. */
  readonly bytes: number;
  /** Fields that are resolved: an alias repeats what is read once. */
  readonly fields: number;
  /** Characters of the answer. */
  readonly answer: number;
  /** How long one statement may take, ms. */
  readonly statementMs: number;
}

/** What all queries of a key may use together. */
export interface CallerBudget {
  /** Rows in a minute; a query that begins within it is finished, and what it reads beyond is owed. */
  readonly rowsPerMinute: number;
  /** Queries that are answered, wait for their turn, or wait for a position. */
  readonly queries: number;
  /** Queries that are answered at once. */
  readonly running: number;
  readonly subscriptions: number;
}

export interface Budgets {
  readonly query: QueryBudget;
  readonly key: CallerBudget;
  /** What all callers together may use of this process. */
  readonly server: Pick<CallerBudget, 'running' | 'subscriptions'> & {
    /** How long a query may wait for its turn, ms. */
    readonly waitMs: number;
  };
}

const MIB = 2 ** 20;

export const BUDGETS: Budgets = {
  // Such a query takes some 250 MB of heap, three at once below half of the thread's. A whole tree (2,000 steps) with rewards,
  // revisions, statistics and tool calls reads about 20,000 rows of 10 MB.
  query: { rows: 100_000, bytes: 32 * MIB, fields: 1_500_000, answer: 32 * MIB, statementMs: 10_000 },
  // of a key that says nothing itself; one processor answers some 100,000 rows a second
  key: { rowsPerMinute: 6_000_000, queries: 128, running: 2, subscriptions: 64 },
  server: { running: 3, subscriptions: 256, waitMs: 30_000 },
};

export type BudgetOverrides = { readonly [Part in keyof Budgets]?: Partial<Budgets[Part]> };

/** Replaces some of the budgets. */
export function budgetsWith(overrides: BudgetOverrides = {}): Budgets {
  return {
    query: { ...BUDGETS.query, ...overrides.query },
    key: { ...BUDGETS.key, ...overrides.key },
    server: { ...BUDGETS.server, ...overrides.server },
  };
}
