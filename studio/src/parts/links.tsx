import type { ReactNode } from 'react';
import { shortId } from './format.ts';
import { Link } from './link.tsx';
import { visible } from './plain-text.tsx';

interface Tree {
  readonly task: { readonly goal: string; readonly alias: string };
}

/** What the task of a tree is called. */
export function taskName(tree: Tree | null | undefined, longest = 80): string {
  return visible(tree?.task.goal || tree?.task.alias || '').slice(0, longest);
}

/** Leads to a run. @param item whether j and k stop here. */
export function RunLink({
  run: { id, name },
  item,
}: {
  readonly run: { readonly id: string; readonly name?: string | null | undefined };
  readonly item?: true;
}) {
  return (
    <Link to="/view/run/$id" params={{ id }} data-item={item}>
      <bdi>{visible(name ?? '').slice(0, 120) || shortId(id)}</bdi>
    </Link>
  );
}

/** Leads to the trajectory of a rollout, `–` where there is none. */
export function RolloutLink({
  rollout,
  children,
  item,
}: {
  readonly rollout: { readonly id: string; readonly treeId: string; readonly ordinal?: number } | null;
  readonly children?: ReactNode;
  readonly item?: true;
}) {
  if (!rollout) return '–';
  return (
    <Link to="/view/trajectory/$id" params={{ id: rollout.id }} search={{ tree: rollout.treeId }} data-item={item}>
      {children ?? `rollout ${rollout.ordinal}`}
    </Link>
  );
}

/** Leads to the group of a tree by the name of its task; nothing where there is none. */
export function GroupLink({ tree }: { readonly tree: (Tree & { readonly id: string }) | null }) {
  if (!tree) return null;
  return (
    <Link to="/view/group/$id" params={{ id: tree.id }}>
      <bdi>{taskName(tree)}</bdi>
    </Link>
  );
}

interface Step {
  readonly id: string;
  readonly depth: number;
  readonly rolloutId: string | null;
  readonly treeId: string;
}

/** Leads to a step in its trajectory, in its tree where it is of no rollout. */
export function StepLink({ step: { id, depth, rolloutId, treeId } }: { readonly step: Step }) {
  return rolloutId ? (
    <Link data-item to="/view/trajectory/$id" params={{ id: rolloutId }} search={{ step: id, tree: treeId }}>
      {`step ${depth}`}
    </Link>
  ) : (
    <Link data-item to="/view/tree/$id" params={{ id: treeId }} search={{ step: id }}>
      {depth === 0 ? 'start' : `node at depth ${depth}`}
    </Link>
  );
}

/** Where a view of a run lies. */
export function RunTrail({
  run,
  children,
}: {
  readonly run: Parameters<typeof RunLink>[0]['run'] | null | undefined;
  readonly children?: ReactNode;
}) {
  return (
    <>
      <Link to="/">Runs</Link>
      {run ? (
        <>
          {' › '}
          <RunLink run={run} />
        </>
      ) : null}
      {children ? (
        <>
          {' › '}
          {children}
        </>
      ) : null}
    </>
  );
}
