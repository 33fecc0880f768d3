import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { ask } from '../graphql/ask.ts';
import { treeStatistics, treeSteps } from '../graphql/generated/operations.ts';
import { useMoment } from '../shell/moment.ts';
import type { TreeStep } from './layout.ts';

const PAGE = 2_000;

/** What a search knew of a step. */
export interface Statistics {
  readonly visits: number;
  readonly value: number;
}
export type StatisticsByStep = ReadonlyMap<string, Statistics>;

interface Place {
  readonly logOffset: number;
}

/** Reads a tree in parts: its steps, and what its search knew after a simulation and after the one before. */
export function useTreeSteps({ id, simulations }: { readonly id: string; readonly simulations: number }, simulation: number) {
  const at = useMoment();
  const read = useParts(['tree steps', id, at], async (after, signal): Promise<readonly TreeStep[]> => {
    return (await ask(treeSteps, { id, first: PAGE, ...after }, at, signal)).tree?.steps ?? [];
  });
  const search = simulations > 0;
  const known = useStatistics(id, search ? simulation : 0, search);
  const previous = useStatistics(id, simulation - 1, search && simulation > 1);
  const steps = useMemo(() => read.data?.pages.flat() ?? [], [read.data]);
  return {
    steps,
    statistics: known.statistics,
    before: previous.statistics,
    loading: read.isFetching || known.loading,
    error: read.error,
  };
}

function useStatistics(id: string, simulation: number, enabled: boolean) {
  const at = useMoment();
  const read = useParts(
    ['tree statistics', id, simulation, at],
    async (after, signal) => (await ask(treeStatistics, { id, first: PAGE, simulation, ...after }, at, signal)).tree?.steps ?? [],
    enabled,
  );
  const statistics = useMemo((): StatisticsByStep => {
    const pages = enabled ? (read.data?.pages.flat() ?? []) : [];
    return new Map(pages.flatMap((step) => (step.statistics ? [[step.id, step.statistics] as const] : [])));
  }, [read.data, enabled]);
  return { statistics, loading: enabled && read.isFetching };
}

function useParts<Item extends Place>(
  key: readonly unknown[],
  read: (after: { readonly after?: number }, signal: AbortSignal) => Promise<readonly Item[]>,
  enabled = true,
) {
  const answer = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read(pageParam === undefined ? {} : { after: pageParam }, signal),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (last: readonly Item[]) => (last.length === PAGE ? last.at(-1)?.logOffset : undefined),
    placeholderData: keepPreviousData,
    enabled,
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isPlaceholderData } = answer;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && !isPlaceholderData) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, isPlaceholderData, fetchNextPage]);
  return answer;
}
