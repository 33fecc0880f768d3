import { runRevisions } from '../../../graphql/studio/generated/operations.ts';
import { LIST_SIZES } from '../../../graphql/studio/list-sizes.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { decimal, shortId, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { taskName } from '../parts/links.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { RevisionState } from '../revisions/revision-state.tsx';

/** The revisions that were mined from a run. */
export function Revisions({ run }: { readonly run: string }) {
  const answer = useAsk(runRevisions, { id: run, first: LIST_SIZES.revisions });
  return (
    <Query of={answer}>
      {({ run: found }) => {
        const revisions = found?.revisions;
        if (!revisions || revisions.totalCount === 0) return null;
        return (
          <section className="panel">
            <h2>{`Revisions: ${whole(revisions.totalCount)}`}</h2>
            <ul className="plain">
              {revisions.nodes.map((each) => (
                <li key={each.id}>
                  <RevisionState of={each.state} />{' '}
                  <Link data-item to="/view/revision/$id" params={{ id: each.id }} search={{ tree: each.treeId }}>
                    {taskName(each.tree, 70) || shortId(each.id)}
                  </Link>{' '}
                  <span className="faint">
                    {each.reason ? visible(each.reason) : each.reached === null ? '' : `reached ${decimal(each.reached)}`}
                  </span>
                </li>
              ))}
            </ul>
            {revisions.totalCount > LIST_SIZES.revisions ? <p className="faint">{`the first ${LIST_SIZES.revisions}`}</p> : null}
          </section>
        );
      }}
    </Query>
  );
}
