import { useState } from 'react';
import { groupLeaves } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { visible } from '../parts/plain-text.tsx';
import { NodeView } from './node-view.tsx';
import { useRenderer } from './use-renderer.ts';

/** A step to be drawn, and what it is called on the page. */
export interface View {
  readonly name: string;
  readonly tree: string;
  readonly step: string;
}

/** Steps next to each other as their environment draws them; nothing where the environment of the first has no renderer. */
export function DrawnViews({ views, open: opened }: { readonly views: readonly View[]; readonly open: boolean }) {
  const renderer = useRenderer(views[0]?.tree);
  const [open, setOpen] = useState(opened);
  if (!renderer) return null;
  return (
    <details className="panel" open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>As {visible(renderer.task.environment)} draws it</summary>
      {open ? <Grid views={views} /> : null}
    </details>
  );
}

/** At most so many frames are on a page: each is a process of its own in a browser. */
const MOST = 8;

/** The ends of the rollouts of a group, as their environment draws them. Nothing is asked for until it is opened. */
export function GroupViews({ tree }: { readonly tree: string }) {
  const renderer = useRenderer(tree);
  const [open, setOpen] = useState(false);
  const answer = useAsk(groupLeaves, { id: tree }, { enabled: open });
  if (!renderer) return null;
  const ended = answer.data?.tree?.rollouts.filter(({ leafId }) => leafId !== null) ?? [];
  const views = ended.slice(0, MOST).map(({ ordinal, leafId }) => ({ name: `rollout ${ordinal}`, tree, step: leafId ?? '' }));
  return (
    <details className="panel" open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>The ends, as {visible(renderer.task.environment)} draws them</summary>
      {ended.length > MOST ? <p className="faint">{`the first ${MOST} of ${ended.length}`}</p> : null}
      {open && answer.data && ended.length === 0 ? <p className="faint">No rollout of this group has ended yet.</p> : null}
      {open ? <Grid views={views} /> : null}
    </details>
  );
}

function Grid({ views }: { readonly views: readonly View[] }) {
  return (
    <div className="drawn-views">
      {views.map(({ name, tree, step }) => (
        <figure key={name}>
          <figcaption className="faint">{name}</figcaption>
          <NodeView tree={tree} step={step} name={name} />
        </figure>
      ))}
    </div>
  );
}
