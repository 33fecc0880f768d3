import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { diffPath, diffReplays, diffSide, divergence } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { Failure } from '../parts/failure.tsx';
import { count, instant, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { GroupLink, RunTrail } from '../parts/links.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Loading, Query } from '../parts/query.tsx';
import { DrawnViews } from '../renderer/drawn-views.tsx';
import { useRenderer } from '../renderer/use-renderer.ts';
import { align, type Pair } from './align.ts';
import { Candidates } from './candidates.tsx';
import { REPLAY, replayedPairs } from './replayed.ts';
import { Cut, LONGEST, Name, Rows } from './rows.tsx';
import type { Side, Step } from './sides.ts';

/** Two trajectories next to each other: where they part, with equal stretches folded. */
export function DiffPage() {
  const { a = '', b = '', aTree, bTree } = useSearch({ from: '/view/diff' });
  const navigate = useNavigate({ from: '/view/diff' });
  const set = (a: string, b: string, aTree: string | undefined, bTree?: string) =>
    void navigate({ search: ({ at }) => ({ at, a, b, aTree, bTree }), replace: true });
  const ofReplay = b === REPLAY;
  const left = useAsk(diffSide, { id: a, tree: aTree }, { enabled: a !== '' });
  const right = useAsk(diffSide, { id: b, tree: bTree }, { enabled: b !== '' && !ofReplay });
  const first = left.data?.rollout;
  const second = b === '' || ofReplay ? null : right.data?.rollout;
  return (
    <>
      <PageHead
        title="Diff of two trajectories"
        trail={<RunTrail run={first?.run}>{first?.tree ? <GroupLink tree={first.tree} /> : null}</RunTrail>}
      >
        {ofReplay || b === '' ? null : (
          <button type="button" onClick={() => set(b, a, bTree, aTree)}>
            Swap
          </button>
        )}
      </PageHead>
      {left.error || right.error ? <Failure error={left.error ?? right.error} /> : null}
      {first ? (
        <Candidates key={first.id} of={first} chosen={b} inTree={bTree} choose={(id, tree) => set(a, id, aTree, tree)} />
      ) : null}
      {a === '' ? <p className="empty">Name a rollout in the address: ?a=…, or come from a trajectory.</p> : null}
      {first && ofReplay ? <ReplayDiff of={first} /> : null}
      {first && second ? <Both a={first} b={second} /> : null}
      {left.isLoading || right.isLoading ? <Loading /> : null}
      {(left.data && !first) || (b !== '' && !ofReplay && right.data && !second) ? (
        <p className="empty">One of the rollouts is not known at this moment of the record.</p>
      ) : null}
    </>
  );
}

function Both({ a, b }: { readonly a: Side; readonly b: Side }) {
  const left = useAsk(diffPath, { leaf: a.leafId ?? '', tree: a.treeId }, { enabled: a.leafId !== null });
  const right = useAsk(diffPath, { leaf: b.leafId ?? '', tree: b.treeId }, { enabled: b.leafId !== null });
  const pairs = useMemo(
    () => (left.data && right.data ? align(left.data.path, right.data.path, keyOf) : null),
    [left.data, right.data],
  );
  if (a.leafId === null || b.leafId === null) return <p className="empty">One of the rollouts has not ended yet.</p>;
  if (left.error || right.error) return <Failure error={left.error ?? right.error} />;
  if (!pairs) return <Loading />;
  const parted = pairs.findIndex(({ equal }) => !equal);
  return (
    <>
      <p>
        {parted === -1
          ? 'Both did and saw the same.'
          : `They part at step ${pairs[parted]?.a?.depth ?? pairs[parted]?.b?.depth}: ${kindOf(pairs[parted])}.`}
      </p>
      {[left, right].some(({ data }) => data && data.path.length >= LONGEST) ? <Cut /> : null}
      <div className="row">
        <CopyAs operation={divergence} variables={{ a: a.id, b: b.id, aTree: a.treeId, bTree: b.treeId }} />
      </div>
      <DiffViews key={`${a.id} ${b.id}`} pairs={pairs} a={a} b={b} from={Math.max(0, parted)} />
      <div className="diff">
        <Name side={a} />
        <Name side={b} />
        <Rows pairs={pairs} names={[`rollout ${a.ordinal}`, `rollout ${b.ordinal}`]} />
      </div>
    </>
  );
}

/** Both sides as their environments draw them, at a place of the alignment: at first where they part. */
function DiffViews({
  pairs,
  a,
  b,
  from,
}: {
  readonly pairs: readonly Pair<Step>[];
  readonly a: Side;
  readonly b: Side;
  readonly from: number;
}) {
  const [at, setAt] = useState(from);
  const renderer = useRenderer(a.tree?.id);
  if (!renderer) return null;
  const side = (of: 'a' | 'b') => pairs.slice(0, at + 1).findLast((pair) => pair[of])?.[of]; // a side that ended stays at its end
  const views = (
    [
      ['a', a],
      ['b', b],
    ] as const
  ).flatMap(([of, { ordinal, tree }]) => {
    const step = side(of);
    return step && tree
      ? [{ name: `rollout ${ordinal}, ${step.depth === 0 ? 'start' : `step ${step.depth}`}`, tree: tree.id, step: step.id }]
      : [];
  });
  return (
    <>
      <label className="faint">
        drawn at{' '}
        <input
          type="range"
          min={0}
          max={pairs.length - 1}
          value={at}
          aria-valuetext={views.map(({ name }) => name).join(', ')}
          onChange={(event) => setAt(Number(event.target.value))}
        />
      </label>
      <DrawnViews views={views} open={matchMedia('(min-width: 1000px)').matches} />
    </>
  );
}

/** What makes two steps equal: of a large text, of which the beginning is here, its digest. */
function keyOf({ action, observation, largeTexts }: Step): string {
  const digests = largeTexts.filter(({ field }) => field === 'action' || field === 'observation').map(({ sha256 }) => sha256);
  return JSON.stringify([action, observation, ...digests]);
}

function kindOf(pair: Pair<Step> | undefined): string {
  if (!pair?.a || !pair.b) return 'one goes on and the other does not';
  return pair.a.action === pair.b.action ? 'the same action showed something else' : 'another action was taken';
}

/** A trajectory next to what came out when its actions were executed again. */
function ReplayDiff({ of }: { readonly of: Side }) {
  const path = useAsk(diffPath, { leaf: of.leafId ?? '', tree: of.treeId }, { enabled: of.leafId !== null });
  const answer = useAsk(diffReplays, { tree: of.tree?.id ?? '' }, { enabled: of.tree !== null });
  if (of.leafId === null) return <p className="empty">The rollout has not ended yet.</p>;
  return (
    <Query of={answer}>
      {({ tree }) => {
        const replays = tree?.run?.replays.filter(({ mode }) => mode === 'environment') ?? [];
        const last = replays.at(-1);
        const pairs = path.data && tree ? replayedPairs(path.data.path, tree.divergences, last) : [];
        const differing = pairs.filter(({ equal }) => !equal);
        if (!last && differing.length === 0)
          return (
            <p className="empty">
              Its actions were not executed again yet: <code>{`espalier replay environment --run ${of.run?.id ?? 'RUN'}`}</code>{' '}
              does.
            </p>
          );
        return (
          <>
            <p>
              {differing.length === 0
                ? 'Every step came out as it is recorded.'
                : `${whole(differing.length)} of ${count(pairs.length, 'step')} came out otherwise, the first at step ${differing[0]?.a?.depth}.`}
              {last
                ? ` The last replay of its run compared ${whole(last.compared)} things, ${whole(last.differing)} of which differ, and ended ${instant(last.finishedAt)}. `
                : ' '}
              <Link to="/view/operations">All replays</Link>
            </p>
            <CopyAs
              operation={diffReplays}
              variables={{ tree: of.tree?.id ?? '' }}
              {...(of.run ? { command: `espalier replay environment --run ${of.run.id}` } : {})}
            />
            {last?.notes.map((note) => (
              <p key={note} className="notice">
                {visible(note).slice(0, 2_000)}
              </p>
            ))}
            {path.data && path.data.path.length >= LONGEST ? <Cut /> : null}
            <div className="diff">
              <Name side={of} />
              <div>
                <b>as replayed</b>
                <div className="faint">what no replay showed otherwise is as it is recorded</div>
              </div>
              <Rows pairs={pairs} names={[`rollout ${of.ordinal}`, 'as replayed']} />
            </div>
          </>
        );
      }}
    </Query>
  );
}
