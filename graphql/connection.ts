import type { Page, PageRequest, UpTo } from '../src/postgres/keyset.ts';
import { InvalidCursor } from '../src/postgres/keyset-cursor.ts';
import { refusal } from './errors.ts';

export interface Connection<Item> {
  readonly edges: readonly { readonly cursor: string; readonly node: Item }[];
  readonly nodes: readonly Item[];
  readonly pageInfo: {
    readonly startCursor: string | null;
    readonly endCursor: string | null;
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
  };
  /** Called by the executor, so only when the field is asked for. */
  readonly totalCount: () => Promise<number>;
}
/** A connection whose items are also counted up to a number. */
export interface CountedConnection<Item> extends Connection<Item> {
  readonly count: (args: { readonly upTo: number }) => Promise<UpTo>;
}
export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

export const PAGE_DEFAULT = 50;
export const PAGE_LIMIT = 500;

/**
 * Answers a connection field: reads the page that the arguments ask for. @throws BAD_USER_INPUT on arguments and cursors that are
 * no page.
 */
export async function connect<Item>(
  args: PageArguments,
  read: (page: PageRequest) => Promise<Page<Item>>,
  count: () => Promise<number>,
): Promise<Connection<Item>> {
  const asked = pageRequest(args);
  const backwards = asked.towards === 'backwards';
  const page = await read(asked).catch((error: unknown) => {
    if (error instanceof InvalidCursor) throw refusal('BAD_USER_INPUT', error.message, { argument: 'after, before' });
    throw error;
  });
  const edges = page.rows.map(({ row, cursor }) => ({ cursor, node: row }));
  return {
    edges,
    nodes: edges.map(({ node }) => node),
    pageInfo: {
      startCursor: (backwards ? page.resume : undefined) ?? edges[0]?.cursor ?? null,
      endCursor: (backwards ? undefined : page.resume) ?? edges.at(-1)?.cursor ?? null,
      hasNextPage: page.hasNext,
      hasPreviousPage: page.hasPrevious,
    },
    totalCount: count,
  };
}

const COUNT_LIMIT = 10_000;

/** Returns the field `count` of a connection. @throws BAD_USER_INPUT outside of 1 to 10,000. */
export function counting(count: (upTo: number) => Promise<UpTo>): CountedConnection<unknown>['count'] {
  return ({ upTo }) => count(bounded('upTo', upTo, COUNT_LIMIT));
}

function pageRequest({ first, after, last, before }: PageArguments): PageRequest {
  if (typeof first === 'number' && typeof last === 'number')
    throw refusal('BAD_USER_INPUT', 'give first (to read on) or last (to read back), not both', { argument: 'first, last' });
  const backwards = typeof last === 'number';
  return {
    limit: bounded(backwards ? 'last' : 'first', (backwards ? last : first) ?? PAGE_DEFAULT, PAGE_LIMIT),
    towards: backwards ? 'backwards' : 'forwards',
    after: after ?? null,
    before: before ?? null,
  };
}

/** Checks a number of items that the caller asks for. @throws BAD_USER_INPUT outside 1 to the limit. */
export function bounded(argument: string, value: number, limit: number): number {
  if (value >= 1 && value <= limit) return value;
  throw refusal('BAD_USER_INPUT', `${argument} must be from 1 to ${limit}, not ${value}; read more in several pages`, {
    argument,
  });
}
