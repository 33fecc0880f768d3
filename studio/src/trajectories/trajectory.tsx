import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useWindowVirtualizer, type Virtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import {
  type StepShownFragment,
  type TrajectoryPageQuery,
  trajectoryPage,
} from '../../../graphql/studio/generated/operations.ts';
import { AnnotateButton, Annotations } from '../annotations/annotations.tsx';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { Failure } from '../parts/failure.tsx';
import { count, decimal } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { RunTrail, taskName } from '../parts/links.tsx';
import { OfTree } from '../parts/of-tree.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Found, Loading } from '../parts/query.tsx';
import { useRenderer } from '../renderer/use-renderer.ts';
import { ViewAside } from '../renderer/view-aside.tsx';
import { useMoment } from '../shell/moment.ts';
import { BatchLink } from '../training/batch-link.tsx';
import { Undeclared } from '../training/undeclared.tsx';
import { StepCard } from './step-card.tsx';
import { Instruction } from './step-text.tsx';
import { stepsOf } from './steps-of.ts';

type Rollout = NonNullable<TrajectoryPageQuery['rollout']>;

/** One trajectory: what was seen, thought and done in it, and what it earned where. */
export function TrajectoryPage() {
  const { id } = useParams({ from: '/view/trajectory/$id' });
  const { tree } = useSearch({ from: '/view/trajectory/$id' });
  const answer = useAsk(trajectoryPage, { id, tree });
  return (
    <OfTree value={answer.data?.rollout?.treeId ?? tree}>
      <Found of={answer} what="rollout" id={id} one={({ rollout }) => rollout}>
        {(rollout) => <Head rollout={rollout} />}
      </Found>
      {answer.data && !answer.data.rollout ? null : <Steps rollout={id} tree={answer.data?.rollout?.treeId} />}
    </OfTree>
  );
}

function Head({ rollout }: { readonly rollout: Rollout }) {
  const { tree, run, sample, policy } = rollout;
  const others = tree?.rollouts.filter(({ id }) => id !== rollout.id) ?? [];
  const best = others.toSorted((a, b) => (b.return ?? -Infinity) - (a.return ?? -Infinity))[0];
  return (
    <>
      <PageHead
        title={`${taskName(tree, 120) || 'trajectory'} · rollout ${rollout.ordinal}`}
        trail={
          <RunTrail run={run}>
            <Link to="/view/group/$id" params={{ id: rollout.treeId }}>
              group
            </Link>
          </RunTrail>
        }
      >
        <Link
          className="button"
          to="/view/tree/$id"
          params={{ id: rollout.treeId }}
          search={rollout.leafId ? { step: rollout.leafId } : {}}
        >
          In the tree
        </Link>
        <Link
          className="button"
          to="/view/diff"
          search={{ a: rollout.id, aTree: rollout.treeId, ...(best ? { b: best.id, bTree: rollout.treeId } : {}) }}
        >
          {best ? `Diff with rollout ${best.ordinal}` : 'Diff with another'}
        </Link>
        <AnnotateButton what={{ subject: { rollout: rollout.id, inTree: rollout.treeId }, name: `rollout ${rollout.ordinal}` }} />
        <CopyAs
          operation={trajectoryPage}
          variables={{ id: rollout.id, tree: rollout.treeId }}
          command={`espalier tree ${rollout.treeId}`}
        />
      </PageHead>
      {tree?.forgotten ? <p className="notice">Something of its payload is forgotten.</p> : null}
      <div className="row">
        <span className={`state state-${rollout.outcome ?? 'running'}`}>{rollout.outcome ?? 'goes on'}</span>
        {rollout.success === null ? null : <span className="state">{rollout.success ? 'success' : 'no success'}</span>}
        <span>
          return <b>{decimal(rollout.return)}</b>
        </span>
        <span>{rollout.stepCount === null ? '' : count(rollout.stepCount, 'step')}</span>
        {rollout.unclearCalls ? (
          <span
            className="state state-failed"
            title="They were made next to this path, and may belong to it: their program changed what it sends back."
          >
            {count(rollout.unclearCalls, 'unclear call')}
          </span>
        ) : null}
        {rollout.lostParts ? (
          <span className="state state-failed" title="They were shown or answered, and are not recorded: each call names them.">
            {count(rollout.lostParts, 'unreadable part')}
          </span>
        ) : null}
        <span>
          policy <bdi>{`${visible(policy.id)}@${policy.version}`}</bdi>
        </span>
        <span className="faint">{visible(rollout.environment)}</span>
        {sample ? (
          <span className={`state state-${sample.state}`}>
            sample: {sample.state}
            {sample.reason ? ` (${visible(sample.reason)})` : ''}
            {sample.batch ? (
              <>
                , <BatchLink batch={sample.batch} />
              </>
            ) : null}
          </span>
        ) : null}
        {rollout.rewards.map((reward) => (
          <span key={reward.id} className="reward" title={`${reward.scorer.name}@${reward.scorer.revision}`}>
            {visible(reward.component)} {decimal(reward.value)} on the whole
          </span>
        ))}
      </div>
      {sample?.state === 'ready' || sample?.state === 'group' ? <Undeclared config={run?.config} /> : null}
      <Annotations of={rollout.annotations} />
      {rollout.reason ? <p className="reason">{visible(rollout.reason)}</p> : null}
      {tree?.instruction ? (
        <details>
          <summary>Instruction</summary>
          <Instruction tree={tree} />
        </details>
      ) : null}
    </>
  );
}

/** The steps of a rollout, those on the screen alone in the page. */
function Steps({ rollout, tree }: { readonly rollout: string; readonly tree: string | undefined }) {
  const at = useMoment();
  const { tree: inTree } = useSearch({ from: '/view/trajectory/$id' });
  const answer = useInfiniteQuery(stepsOf(rollout, inTree, at));
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = answer;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const steps = answer.data?.pages.flatMap((part) => part.steps) ?? [];
  if (answer.error && steps.length === 0) return <Failure error={answer.error} />;
  if (answer.isPending) return <Loading />;
  if (steps.length === 0) return <p className="empty">No step is recorded yet.</p>;
  return <List steps={steps} tree={tree} />;
}

function List({ steps, tree }: { readonly steps: readonly StepShownFragment[]; readonly tree: string | undefined }) {
  const { step } = useSearch({ from: '/view/trajectory/$id' });
  const navigate = useNavigate({ from: '/view/trajectory/$id' });
  const list = useRef<HTMLOListElement>(null);
  const [offset, setOffset] = useState(0);
  useLayoutEffect(() => setOffset(list.current?.offsetTop ?? 0), []);
  const rows = useWindowVirtualizer({
    count: steps.length,
    estimateSize: () => 180,
    overscan: 6,
    scrollMargin: offset,
    getItemKey: (index) => steps[index]?.id ?? index,
  });
  const renderer = useRenderer(tree);
  const [pointed, setPointed] = useState<number | null>(null);
  const chosen = steps.findIndex(({ id }) => id === step);
  const arrived = useRef(false);
  useEffect(() => {
    if (chosen === -1 || arrived.current) return;
    arrived.current = true;
    rows.scrollToIndex(chosen, { align: 'center' });
  }, [chosen, rows]);
  const items = (
    <ol className="steps" ref={list} style={{ height: rows.getTotalSize() }}>
      {rows.getVirtualItems().map((row) => {
        const shown = steps[row.index];
        return shown ? (
          <li
            key={row.key}
            ref={rows.measureElement}
            data-index={row.index}
            onPointerEnter={() => setPointed(row.index)}
            onFocus={() => setPointed(row.index)}
            style={{ transform: `translateY(${row.start - offset}px)` }}
          >
            <StepCard
              step={shown}
              chosen={shown.id === step}
              choose={() => void navigate({ search: (all) => ({ ...all, step: shown.id }), replace: true })}
            />
          </li>
        ) : null;
      })}
    </ol>
  );
  const at = Math.min(pointed ?? (chosen === -1 ? topmost(rows) : chosen), steps.length - 1);
  return (
    // one element with and without a view: what was opened meanwhile stays open when the view arrives
    <div className={renderer ? 'with-view' : undefined}>
      {items}
      {renderer ? <ViewAside renderer={renderer} steps={steps} at={at} /> : null}
    </div>
  );
}

/** The first step that the bar does not hide; at the end of the page the last one. */
function topmost(rows: Virtualizer<Window, Element>): number {
  const from = rows.scrollOffset ?? 0;
  if (from > 0 && from + window.innerHeight >= document.documentElement.scrollHeight - 2) return rows.options.count - 1;
  return rows.getVirtualItems().find(({ end }) => end > from + 80)?.index ?? 0;
}
