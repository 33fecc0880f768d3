import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { type TreePageQuery, treePage } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { Failure } from '../parts/failure.tsx';
import { count, shortId, whole } from '../parts/format.ts';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Shown } from '../parts/shown.tsx';
import { Canvas } from './canvas.tsx';
import { layOut } from './layout.ts';
import { NodePanel } from './node-panel.tsx';
import { type Colouring, paintOf } from './paint.ts';
import { simulationOf, statisticsAfter } from './search.ts';
import { Simulation } from './simulation.tsx';
import { type Outline, useOutline } from './use-outline.ts';

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
              {`${count(tree.size.steps, 'step')}, depth ${tree.size.depth}, ${count(tree.size.leaves, 'leaf', 'leaves')}`}
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
  const { outline, error } = useOutline(tree.id);
  if (error && !outline) return <Failure error={error} />;
  if (!outline)
    return (
      <p className="loading" role="status">
        Loading…
      </p>
    );
  return <Drawn tree={tree} outline={outline} />;
}

function Drawn({ tree, outline }: { readonly tree: Tree; readonly outline: Outline }) {
  const search = useSearch({ from: '/view/tree/$id' });
  const navigate = useNavigate({ from: '/view/tree/$id' });
  const set = (part: Record<string, string | undefined>) =>
    void navigate({ search: (all) => ({ ...all, ...part }), replace: true });
  const [collapse, setCollapse] = useState(true);
  const last = outline.backUps.length;
  const simulation = search.simulation === undefined ? last : Math.min(Number(search.simulation) || 0, last);
  const layout = useMemo(() => layOut(outline.steps, tree.rootId, collapse), [outline, tree.rootId, collapse]);
  const statistics = useMemo(() => statisticsAfter(outline, simulation), [outline, simulation]);
  const simulated = useMemo(
    () => simulationOf(outline, simulation, statisticsAfter(outline, simulation - 1)),
    [outline, simulation],
  );
  const colouring = (search.colour ?? (last > 0 ? 'value' : 'success')) as Colouring;
  const paint = useMemo(
    () => paintOf(layout, { colouring, statistics, simulated, rollouts: tree.rollouts }),
    [layout, colouring, statistics, simulated, tree.rollouts],
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
          <i style={{ background: paint.low }} /> low <i style={{ background: paint.high }} /> high ·{' '}
          {last > 0 ? 'width by visits' : 'width by steps below'}
        </span>
      </div>
      {last > 0 ? (
        <Simulation
          at={simulation}
          last={last}
          simulated={simulated}
          go={(to) => set({ simulation: to === last ? undefined : String(to) })}
        />
      ) : null}
      {tree.simulations > last ? (
        <p className="notice">{`The first ${whole(last)} of ${whole(tree.simulations)} simulations are played here.`}</p>
      ) : null}
      <div className="tree-split">
        <Canvas layout={layout} paint={paint} chosen={chosen} choose={(node) => set({ step: node.step.id })} />
        <NodePanel
          tree={tree}
          outline={outline}
          node={chosen ?? layout.nodes[0]}
          simulation={simulation}
          statistics={statistics}
          choose={(step) => set({ step })}
        />
      </div>
    </>
  );
}
