import { useMemo } from 'react';
import { renderedPath } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { visible } from '../parts/plain-text.tsx';
import { OwnView } from './own-view.tsx';
import { givenOf, type RendererStep } from './renderer.ts';
import { type TreeRenderer, useRenderer } from './use-renderer.ts';

interface NodeViewProps {
  readonly tree: string;
  readonly step: string;
  /** What sets it apart from other views on the page. */
  readonly name?: string;
}

/** A node of a tree as its environment draws it; nothing where no renderer is known. */
export function NodeView({ tree, step, name }: NodeViewProps) {
  const renderer = useRenderer(tree);
  const answer = useAsk(renderedPath, { leaf: step, tree }, { enabled: renderer !== null });
  const path = answer.data?.path;
  return renderer && path && path.at(-1)?.id === step ? <Drawn renderer={renderer} path={path} name={name} /> : null;
}

function Drawn({
  renderer: { source, task },
  path,
  name,
}: {
  readonly renderer: TreeRenderer;
  readonly path: readonly RendererStep[];
  readonly name: string | undefined;
}) {
  const given = useMemo(() => givenOf(task, path, path.length - 1), [task, path]);
  return (
    <OwnView
      source={source}
      given={given}
      label={`The view of ${visible(task.environment)}${name === undefined ? '' : `, ${name}`}`}
    />
  );
}
