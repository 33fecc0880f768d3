import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { runLengths } from '../../../graphql/studio/generated/operations.ts';
import { LIST_SIZES } from '../../../graphql/studio/list-sizes.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Chart } from '../parts/chart.tsx';
import { decimal, whole } from '../parts/format.ts';
import type { Point } from '../parts/point.ts';
import { Query } from '../parts/query.tsx';

const FIRST = LIST_SIZES.lengths; // the last of the run

interface Length extends Point {
  readonly id: string;
  readonly tree: string;
  readonly steps: number;
}

/** How long the rollouts of a run are, and what each earned: a mark is a rollout and leads to its trajectory. */
export function Lengths({ run, search }: { readonly run: string; readonly search: boolean }) {
  const navigate = useNavigate();
  const answer = useAsk(runLengths, { id: run, first: FIRST });
  const nodes = answer.data?.rollouts.nodes;
  const points = useMemo(
    () =>
      (nodes ?? []).flatMap(({ id, treeId, ordinal, stepCount, return: earned, success, outcome }, at): Length[] =>
        stepCount === null || earned === null
          ? []
          : [
              {
                id,
                tree: treeId,
                x: stepCount + beside(at),
                steps: stepCount,
                y: earned,
                series: success ? 'success' : (outcome ?? ''),
                title: `rollout ${ordinal}: ${stepCount} actions, return ${decimal(earned)}, ${success ? 'success' : outcome}`,
              },
            ],
      ),
    [nodes],
  );
  return (
    <Query of={answer}>
      {({ rollouts }) =>
        points.length === 0 ? null : (
          <section className="panel">
            <h2>Lengths and returns</h2>
            <p className="faint">
              {`${lengthsOf(points)}${rollouts.totalCount > FIRST ? `, of the last ${whole(FIRST)} of ${whole(rollouts.totalCount)} rollouts` : ''}; return by actions, a mark is a rollout${search ? '. Actions that a rollout took itself: in a search it goes on from a node of the tree' : ''}`}
            </p>
            <Chart
              points={points}
              label="return by number of actions"
              of="actions"
              choose={(point) => {
                const { id, tree } = point as Length;
                void navigate({ to: '/view/trajectory/$id', params: { id }, search: { tree } });
              }}
            />
          </section>
        )
      }
    </Query>
  );
}

/** Sets marks of one length beside one another, at most a third of an action away, in an order that looks like none. */
function beside(at: number): number {
  return ((at * 0.618_034) % 1) * 0.6 - 0.3;
}

function lengthsOf(points: readonly Length[]): string {
  const sorted = points.map(({ steps }) => steps).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return `${at(0)} to ${at(1)} actions, median ${at(0.5)}, nine of ten at most ${at(0.9)}`;
}
