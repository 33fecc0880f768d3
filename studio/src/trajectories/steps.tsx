import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useWindowVirtualizer, type Virtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { StepShownFragment } from '../../../graphql/studio/generated/operations.ts';
import { Failure } from '../parts/failure.tsx';
import { Loading } from '../parts/query.tsx';
import { useRenderer } from '../renderer/use-renderer.ts';
import { ViewAside } from '../renderer/view-aside.tsx';
import { useMoment } from '../shell/moment.ts';
import { StepCard } from './step-card.tsx';
import { stepsOf } from './steps-of.ts';

/** The steps of a rollout, those on the screen alone in the page. */
export function Steps({ rollout, tree }: { readonly rollout: string; readonly tree: string | undefined }) {
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
