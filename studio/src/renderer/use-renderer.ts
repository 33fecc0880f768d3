import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type RenderedTaskQuery, renderedTask } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import type { RendererTask } from './renderer.ts';
import { shippedRenderer } from './shipped.ts';

/** How the steps of a tree are drawn: the module, what it is of, and the task. */
export interface TreeRenderer {
  readonly source: string;
  readonly task: RendererTask;
}

/** Finds the renderer of a tree's environment: the run's own, or the one that the studio brings; null where there is none. */
export function useRenderer(tree: string | undefined): TreeRenderer | null {
  const answer = useAsk(renderedTask, { tree: tree ?? '' }, { enabled: tree !== undefined });
  const asked = answer.data?.tree;
  const own = asked ? ownOf(asked) : undefined;
  const environment = asked?.task.environment ?? '';
  const shipped = useQuery({
    queryKey: ['shipped renderer', environment],
    queryFn: () => shippedRenderer(environment),
    enabled: asked !== undefined && asked !== null && own === undefined,
    staleTime: Infinity,
  });
  const source = own ?? shipped.data;
  return useMemo(() => {
    if (!asked || !source) return null;
    const { environment: name, alias, goal } = asked.task;
    return { source, task: { environment: name, alias, goal, instruction: asked.instruction } };
  }, [asked, source]);
}

function ownOf({ run, task }: NonNullable<RenderedTaskQuery['tree']>): string | undefined {
  return run?.environments.find(({ environment }) => environment === task.environment)?.renderer?.source;
}
