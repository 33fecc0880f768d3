import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { type TreePageQuery, treePage } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { Choose } from '../parts/choose.tsx';
import { CopyAs } from '../parts/copy-as.tsx';
import { Failure } from '../parts/failure.tsx';
import { count, decimal, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { RunTrail, taskName } from '../parts/links.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Found, Loading } from '../parts/query.tsx';
import { Canvas } from './canvas.tsx';
import { layOut } from './layout.ts';
import { NodePanel } from './node-panel.tsx';
import { type Colouring, paintOf } from './paint.ts';
import { type Simulated, simulationOf, statisticsAfter } from './search.ts';
import { type Outline, useOutline } from './use-outline.ts';

type Tree = NonNullable<TreePageQuery['tree']>;

/** A whole tree: rollouts that branch at the root, or a search. */
export function TreePage() {
  const { id } = useParams({ from: '/view/tree/$id' });
  const answer = useAsk(treePage, { id });
  return (
    <Found of={answer} what="tree" id={id} one={({ tree }) => tree}>
      {(tree) => (
        <>
          <PageHead title={`Tree: ${taskName(tree, 120)}`} trail={<RunTrail run={tree.run ?? { id: tree.runId }} />}>
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
      )}
    </Found>
  );
}

function Drawing({ tree }: { readonly tree: Tree }) {
  const { outline, error } = useOutline(tree.id);
  if (error && !outline) return <Failure error={error} />;
  if (!outline) return <Loading />;
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
        <Choose
          className="faint"
          label="colour by"
          value={colouring}
          options={[
            ['value', 'value of the search'],
            ['success', 'success'],
            ['reward', 'reward of the step'],
          ]}
          set={(colour) => set({ colour })}
        />
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

const PAUSE_MS = 600;

/** Plays a search from the record: after each simulation what the search knew then, and the path that it backed up along. */
function Simulation({
  at,
  last,
  simulated,
  go,
}: {
  readonly at: number;
  readonly last: number;
  readonly simulated: Simulated | null;
  readonly go: (to: number) => void;
}) {
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    if (at >= last) return setPlaying(false);
    const next = setTimeout(() => go(at + 1), PAUSE_MS);
    return () => clearTimeout(next);
  }, [playing, at, last, go]);
  const play = () => {
    if (!playing && at >= last) go(1);
    setPlaying(!playing);
  };
  return (
    <div className="row simulation">
      <button type="button" onClick={play}>
        {playing ? 'Pause' : 'Play'}
      </button>
      <button type="button" onClick={() => go(Math.max(1, at - 1))} disabled={at <= 1} aria-label="one simulation back">
        ‹
      </button>
      <input
        type="range"
        min={1}
        max={last}
        value={at}
        onChange={(event) => go(Number(event.target.value))}
        aria-label="simulation"
        aria-valuetext={`after simulation ${at} of ${last}`}
      />
      <button type="button" onClick={() => go(Math.min(last, at + 1))} disabled={at >= last} aria-label="one simulation on">
        ›
      </button>
      <output className="number">{`after simulation ${at} of ${last}`}</output>
      {simulated ? (
        <span className="faint">
          {`it went ${count(simulated.path.size - 1, 'step')} down, ${simulated.fresh.size} of them visited for the first time (ringed), and backed up ${decimal(simulated.value)}`}
        </span>
      ) : null}
    </div>
  );
}
