import { Link } from '../parts/link.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import type { StoredPage } from './stored-page.ts';

interface Named {
  readonly id: string;
  readonly name?: string;
  readonly task?: { readonly alias: string; readonly goal: string };
  readonly rollouts?: readonly {
    readonly id: string;
    readonly ordinal: number;
    readonly outcome: string | null;
    readonly success: boolean | null;
  }[];
}

/** What a page holds: its runs, and its trees with their rollouts. */
export function Contents({ page }: { readonly page: StoredPage }) {
  const { record } = page;
  const of = (name: string, field: string) =>
    Object.entries(record.answers).flatMap(([key, answer]) =>
      key.startsWith(`${name} `) ? [(answer as Readonly<Record<string, Named>>)[field]].filter((one) => one !== undefined) : [],
    );
  return (
    <>
      <PageHead title={visible(record.title)} />
      <ul className="plain">
        {of('RunPage', 'run').map((run) => (
          <li key={run.id}>
            Run{' '}
            <Link data-item to="/view/run/$id" params={{ id: run.id }}>
              <bdi>{visible(run.name ?? run.id)}</bdi>
            </Link>
          </li>
        ))}
        {of('TreePage', 'tree').map((tree) => (
          <li key={tree.id}>
            <Link data-item to="/view/tree/$id" params={{ id: tree.id }}>
              <bdi>{visible(tree.task?.goal || tree.task?.alias || tree.id).slice(0, 160)}</bdi>
            </Link>
            {tree.rollouts?.map((rollout) => (
              <span key={rollout.id}>
                {' · '}
                <Link to="/view/trajectory/$id" params={{ id: rollout.id }} search={{ tree: tree.id }}>
                  {`rollout ${rollout.ordinal}${rollout.success ? ', success' : ''}`}
                </Link>
              </span>
            ))}
          </li>
        ))}
      </ul>
    </>
  );
}
