import { useMemo, useState } from 'react';
import { visible } from '../parts/plain-text.tsx';
import { OwnView } from './own-view.tsx';
import { givenOf, type RendererStep } from './renderer.ts';
import type { TreeRenderer } from './use-renderer.ts';

/** A step of a trajectory as its environment draws it, next to the list of its steps. */
export function ViewAside({
  renderer: { source, task },
  steps,
  at,
}: {
  readonly renderer: TreeRenderer;
  readonly steps: readonly RendererStep[];
  readonly at: number;
}) {
  const [open, setOpen] = useState(() => matchMedia('(min-width: 1000px)').matches);
  const given = useMemo(() => givenOf(task, steps, at), [task, steps, at]);
  const shown = steps[at];
  if (!shown) return null;
  const name = `${visible(task.environment)}, ${shown.depth === 0 ? 'start' : `step ${shown.depth}`}`;
  return (
    <aside className="view-aside panel">
      <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>{name}</summary>
        {open ? <OwnView source={source} given={given} label={`The view of ${name}`} /> : null}
      </details>
    </aside>
  );
}
