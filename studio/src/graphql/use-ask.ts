import { keepPreviousData, type QueryClient, type UseQueryResult, useQueries, useQuery } from '@tanstack/react-query';
import type { Operation } from '../../../graphql/studio/operation.ts';
import { useMoment } from '../shell/moment.ts';
import { ask, type Moment } from './ask.ts';

/** Whether an answer may lack parts that were refused, which the page then names. */
type Parts = 'some' | 'all';

/** Returns what the server answers to an operation at the moment that the page shows, and asks again when the record grows. */
export function useAsk<Answer, Variables>(
  operation: Operation<Answer, Variables>,
  variables: Variables,
  { enabled = true, parts = 'some' }: { readonly enabled?: boolean; readonly parts?: Parts } = {},
): UseQueryResult<Answer> {
  const at = useMoment();
  return useQuery({ ...questionOf(operation, variables, at, parts), placeholderData: keepPreviousData, enabled });
}

/** Asks the same of several things, each a question of its own. */
export function useAskEach<Answer, Variables>(
  operation: Operation<Answer, Variables>,
  each: readonly Variables[],
): readonly UseQueryResult<Answer>[] {
  const at = useMoment();
  return useQueries({ queries: each.map((variables) => questionOf(operation, variables, at)) });
}

/** Asks before a view is there to ask: while its script is loaded, or when the pointer is on a link to it. */
export function askAhead<Answer, Variables>(
  queries: QueryClient,
  operation: Operation<Answer, Variables>,
  variables: Variables,
  at: Moment,
): void {
  void queries.prefetchQuery(questionOf(operation, variables, at));
}

function questionOf<Answer, Variables>(
  operation: Operation<Answer, Variables>,
  variables: Variables,
  at: Moment,
  parts: Parts = 'some',
) {
  const queryKey = [operation.name, variables, at];
  return {
    queryKey,
    queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
      ask(operation, variables, { at, signal, ...(parts === 'some' ? { partOf: queryKey } : {}) }),
  };
}
