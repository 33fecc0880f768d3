import type { ServerContext } from '../context.ts';
import type { Operation } from '../studio/operation.ts';

/** Answers an operation of the studio for a page that is written. */
export interface Ask {
  /** @throws NoAnswer. */
  <Answer, Variables>(operation: Operation<Answer, Variables>, variables: Variables): Promise<Answer>;
  /** What could not be read while the rest could: field and reason, with the number of places. */
  readonly lost: ReadonlyMap<string, number>;
}

/** A query for a page was refused. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  readonly status: number;
  readonly retryAfter: string | null;
  constructor(message: string, status: number, retryAfter: string | null) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

interface Reply {
  readonly data?: object | null;
  readonly errors?: readonly { readonly message: string; readonly path?: readonly (string | number)[] }[];
}

/** Asks the GraphQL API as the caller of the page, within the caller's limits. */
export function asker(
  graphql: { fetch(request: Request, context: ServerContext): Response | Promise<Response> },
  context: ServerContext,
  signal: AbortSignal,
): Ask {
  const lost = new Map<string, number>();
  const ask = async <Answer, Variables>({ text }: Operation<Answer, Variables>, variables: Variables): Promise<Answer> => {
    signal.throwIfAborted();
    const request = new Request('http://page/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      signal,
      body: JSON.stringify({ query: text, variables }),
    });
    const response = await graphql.fetch(request, context);
    const { data, errors } = (await response.json()) as Reply;
    if (data) {
      for (const { message, path = [] } of errors ?? []) {
        const what = `${path.filter((part) => typeof part === 'string').join('.')}: ${message}`;
        lost.set(what, (lost.get(what) ?? 0) + 1);
      }
      return data as Answer; // what could not be read of it is null
    }
    const status = response.status >= 400 ? response.status : 422;
    throw new NoAnswer(
      errors?.[0]?.message ?? `GraphQL answered ${response.status}`,
      status,
      response.headers.get('retry-after'),
    );
  };
  return Object.assign(ask, { lost });
}
