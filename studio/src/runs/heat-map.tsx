import { useState } from 'react';
import { type RunTreesQuery, runTrees, type TreeOrder } from '../../../graphql/studio/generated/operations.ts';
import { LIST_SIZES } from '../../../graphql/studio/list-sizes.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Choose } from '../parts/choose.tsx';
import { colourOf, scaleOf } from '../parts/colour.ts';
import { count, decimal } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { taskName } from '../parts/links.tsx';
import { Paging, usePages } from '../parts/paging.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';

type Tree = RunTreesQuery['trees']['nodes'][number];

/** The tasks of a run by their rollouts: a mark is a rollout, its colour its return. */
export function HeatMap({ run }: { readonly run: string }) {
  const [orderBy, setOrder] = useState<TreeOrder>('OPENED_ASC');
  const pages = usePages(run + orderBy);
  const answer = useAsk(runTrees, { id: run, first: LIST_SIZES.trees, orderBy, ...pages.variables });
  return (
    <section aria-labelledby="tasks">
      <div className="row">
        <h2 id="tasks">Tasks and rollouts</h2>
        <Choose
          className="faint"
          label="in order of"
          value={orderBy}
          options={[
            ['OPENED_ASC', 'opening'],
            ['OPENED_DESC', 'opening, the last first'],
            ['RETURN_VARIANCE_DESC', 'variance of returns'],
          ]}
          set={(value) => setOrder(value as TreeOrder)}
        />
        <span className="legend">
          <i style={{ background: colourOf(0, 0, 1) }} /> low return <i style={{ background: colourOf(1, 0, 1) }} /> high return{' '}
          <i className="mark-failed" /> failed <i className="mark-open" /> goes on
        </span>
      </div>
      <Query of={answer}>
        {({ trees }) => (
          <>
            {trees.nodes.length === 0 ? <p className="empty">No tree is opened yet.</p> : <Marks trees={trees.nodes} />}
            <Paging pages={pages} info={trees.pageInfo} of="trees">
              <span className="faint">{count(trees.totalCount, 'tree')}</span>
            </Paging>
          </>
        )}
      </Query>
    </section>
  );
}

function Marks({ trees }: { readonly trees: readonly Tree[] }) {
  const returns = trees.flatMap(({ rollouts }) => rollouts.flatMap((rollout) => rollout.return ?? []));
  const [low, high] = scaleOf(returns);
  return (
    <ul className="heat">
      {trees.map((tree) => (
        <li key={tree.id}>
          <Link data-item to="/view/group/$id" params={{ id: tree.id }} className="heat-task" title={visible(tree.task.goal)}>
            <bdi>{taskName(tree)}</bdi>
            <span className="faint">{tree.task.depth === null ? '' : ` depth ${tree.task.depth}`}</span>
          </Link>
          <span className="heat-marks">
            {tree.rollouts.map((rollout) => (
              <Mark key={rollout.id} rollout={rollout} tree={tree.id} low={low} high={high} />
            ))}
            {tree.rollouts.length === 0 ? (
              <Link to="/view/tree/$id" params={{ id: tree.id }} className="faint">
                {`${count(tree.size.steps, 'step')}${tree.simulations > 0 ? `, ${count(tree.simulations, 'simulation')}` : ''}`}
              </Link>
            ) : null}
          </span>
          <span className="faint number">
            {tree.returnVariance === null ? '' : `variance ${decimal(tree.returnVariance)}`}
            {tree.closedAt ? '' : ' · open'}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Mark({
  rollout,
  tree,
  low,
  high,
}: {
  readonly rollout: Tree['rollouts'][number];
  readonly tree: string;
  readonly low: number;
  readonly high: number;
}) {
  const { outcome } = rollout;
  const said = `rollout ${rollout.ordinal}: ${outcome ?? 'goes on'}, return ${decimal(rollout.return)}${rollout.success ? ', success' : ''}`;
  const kind = outcome === null ? 'mark-open' : outcome === 'failed' || outcome === 'cancelled' ? 'mark-failed' : '';
  const colour = rollout.return === null || kind !== '' ? {} : { background: colourOf(rollout.return, low, high) };
  return (
    <Link
      to="/view/trajectory/$id"
      params={{ id: rollout.id }}
      search={{ tree }}
      className={`mark ${kind} ${rollout.success ? 'mark-success' : ''}`}
      style={colour}
      title={said}
      aria-label={said}
    />
  );
}
