import { infiniteQueryOptions } from '@tanstack/react-query';
import { rolloutSteps, type StepShownFragment, trajectorySteps } from '../../../graphql/studio/generated/operations.ts';
import { ask, type Moment } from '../graphql/ask.ts';

const FIRST = 30; // what a screen shows of a trajectory at once, and then some
const PAGE = 200;
const LIVE_STEPS = 500; // of a rollout that goes on

interface Part {
  readonly steps: readonly StepShownFragment[];
  /** The depth behind which the rest lies; undefined where there is none. */
  readonly next: number | undefined;
}

/** The question for the steps of a rollout, in parts: the first one is small, so that it is shown at once. */
export function stepsOf(rollout: string, tree: string | undefined, at: Moment) {
  const queryKey = ['steps of', rollout, tree, at];
  return infiniteQueryOptions({
    queryKey,
    queryFn: async ({ pageParam: after, signal }): Promise<Part> => {
      const first = after === undefined ? FIRST : PAGE;
      const variables = { rollout, tree, first, ...(after === undefined ? {} : { after }) };
      const { trajectory } = await ask(trajectorySteps, variables, { at, signal, partOf: queryKey });
      if (!trajectory) {
        const { steps } = await ask(rolloutSteps, { rollout, tree, first: LIVE_STEPS }, { at, signal, partOf: queryKey });
        return { steps: steps.nodes, next: undefined };
      }
      return { steps: trajectory.steps, next: trajectory.steps.length === first ? trajectory.steps.at(-1)?.depth : undefined };
    },
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (last: Part) => last.next,
  });
}
