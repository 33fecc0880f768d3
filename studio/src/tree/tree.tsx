import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { type TreePageQuery, treePage } from '../graphql/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { shortId, whole } from '../parts/format.ts';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Shown } from '../parts/shown.tsx';
import { Canvas } from './canvas.tsx';
import { layOut } from './layout.ts';
import { NodePanel } from './node-panel.tsx';
import { type Colouring, paintOf } from './paint.ts';
import { Simulation } from './simulation.tsx';
import { useTreeSteps } from './use-tree-steps.ts';

type Tree = NonNullable<TreePageQuery['tree']>;

/** A whole tree: rollouts that branch at the root, or a search. */
export function TreePage() {
  const { id } = useParams({ from: '/view/tree/$id' });
  const answer = useAsk(treePage, { id });
  return (
    <Shown of={answer}>
      {({ tree }) =>
        tree ? (
          <>
            <PageHead
              title={`Tree: ${visible(tree.task.goal || tree.task.alias).slice(0, 120)}`}
              trail={
                <>
                  <Link to="/">Runs</Link> ›{' '}
                  <Link to="/view/run/$id" params={{ id: tree.runId }}>
                    {visible(tree.run?.name ?? '') || shortId(tree.runId)}
                  </Link>
                </>
              }
            >
              <Link className="button" to="/view/group/$id" params={{ id }}>
                As a group
              </Link>
              <CopyAs operation={treePage} variables={{ id }} command={`espalier tree ${id}`} />
            </PageHead>
            <p className="faint">
              {`${whole(tree.size.steps)} steps, depth ${tree.size.depth}, ${whole(tree.size.leaves)} leaves`}
              {tree.simulations > 0 ? `, ${whole(tree.simulations)} simulations` : ''}
              {tree.closedAt ? `, closed: ${tree.closeReason}` : ', it grows'}
            </p>
            <Drawing tree={tree} />
          </>
        ) : (
          <p className="empty">No tree has the id {id} at this moment of the record.</p>
        )
      }
    </Shown>
  );
}

function Drawing({ tree }: { readonly tree: Tree }) {
  const search = useSearch({ from: '/view/tree/$id' });
  const navigate = useNavigate({ from: '/view/tree/$id' });
  const set = (part: Record<string, string | undefined>) =>
    void navigate({ search: (all) => ({ ...all, ...part }), replace: true });
  const [collapse, setCollapse] = useState(true);
  const simulation =
    search.simulation === undefined ? tree.simulations : Math.min(Number(search.simulation) || 0, tree.simulations);
  const { steps, statistics, before, loading, error } = useTreeSteps(tree, simulation);
  const layout = useMemo(() => layOut(steps, tree.rootId, collapse), [steps, tree.rootId, collapse]);
  const colouring = (search.colour ?? (tree.simulations > 0 ? 'value' : 'success')) as Colouring;
  const paint = useMemo(
    () => paintOf(layout, { colouring, statistics, before, rollouts: tree.rollouts }),
    [layout, colouring, statistics, before, tree.rollouts],
  );
  const chosen = search.step === undefined ? undefined : layout.byStep.get(search.step);
  return (
    <>
      <div className="row">
        <label className="faint">
          colour by{' '}
          <select value={colouring} onChange={(event) => set({ colour: event.target.value })}>
            <option value="value">value of the search</option>
            <option value="success">success</option>
            <option value="reward">reward of the step</option>
          </select>
        </label>
        <label className="faint">
          <input type="checkbox" checked={collapse} onChange={(event) => setCollapse(event.target.checked)} /> collapse chains
        </label>
        <span className="legend">
          <i style={{ background: paint.low }} /> low <i style={{ background: paint.high }} /> high · width by visits
        </span>
        {loading ? <span className="faint">{`loading: ${whole(steps.length)} steps`}</span> : null}
      </div>
      {tree.simulations > 0 ? (
        <Simulation
          at={simulation}
          last={tree.simulations}
          go={(to) => set({ simulation: to === tree.simulations ? undefined : String(to) })}
        />
      ) : null}
      {error ? <p className="notice notice-bad">{String(error)}</p> : null}
      <div className="tree-split">
        <Canvas layout={layout} paint={paint} chosen={chosen} choose={(node) => set({ step: node.step.id })} />
        <NodePanel tree={tree} node={chosen} statistics={statistics} choose={(step) => set({ step })} />
      </div>
    </>
  );
}
