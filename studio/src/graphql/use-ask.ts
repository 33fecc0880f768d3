import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useMoment } from '../shell/moment.ts';
import { ask } from './ask.ts';
import type { Operation } from './operation.ts';

/** Returns what the server answers to an operation at the moment that the page shows, and asks again when the record grows. */
export function useAsk<Answer, Variables>(
  operation: Operation<Answer, Variables>,
  variables: Variables,
  { enabled = true }: { readonly enabled?: boolean } = {},
): UseQueryResult<Answer> {
  const at = useMoment();
  return useQuery({
    queryKey: [operation.name, variables, at],
    queryFn: ({ signal }) => ask(operation, variables, at, signal),
    placeholderData: keepPreviousData,
    enabled,
  });
}
