import type { ReactNode } from 'react';
import { type RunFailuresQuery, runFailures } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { isPage } from '../page/stored-page.ts';
import { whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { RolloutLink, taskName } from '../parts/links.tsx';
import { Query } from '../parts/query.tsx';

type Ended = RunFailuresQuery['truncated'];

/** How the rollouts of a run ended, each kind with its rollouts; those that failed have a panel of their own. */
export function Ends({ run }: { readonly run: string }) {
  const answer = useAsk(runFailures, { id: run });
  return (
    <Query of={answer}>
      {({ succeeded, without, ended, truncated, rollouts: { totalCount: failed } }) => {
        const unjudged = ended.totalCount - succeeded.totalCount - without.totalCount;
        if (ended.totalCount + truncated.totalCount + failed === 0) return null;
        return (
          <section className="panel">
            <h2>How rollouts ended</h2>
            <ul className="plain">
              <End of={succeeded} as="succeeded" />
              <End of={without} as="ended without success" />
              {unjudged > 0 ? (
                <li>
                  <b>{whole(unjudged)} ×</b> ended, not judged by the environment
                </li>
              ) : null}
              <End of={truncated} as="cut off by the limit">
                {isPage() ? null : (
                  <Link to="/view/find" search={{ run, termination: 'truncated' }}>
                    Find their last steps
                  </Link>
                )}
              </End>
              <li>
                {failed === 0 ? (
                  <span className="faint">No failure is recorded.</span>
                ) : (
                  <>
                    <b>{whole(failed)} ×</b> failed or cancelled
                  </>
                )}
              </li>
            </ul>
          </section>
        );
      }}
    </Query>
  );
}

function End({
  of: { totalCount, nodes },
  as,
  children,
}: {
  readonly of: Ended;
  readonly as: string;
  readonly children?: ReactNode;
}) {
  if (totalCount === 0) return null;
  return (
    <li>
      <details>
        <summary>
          <b>{whole(totalCount)} ×</b> {as}
        </summary>
        {totalCount > nodes.length ? (
          <p className="faint">
            {`the last ${whole(nodes.length)} of them`} {children}
          </p>
        ) : (
          children
        )}
        <ul className="plain">
          {nodes.map(({ id, treeId, ordinal, tree }) => (
            <li key={`${id} ${treeId}`}>
              <RolloutLink rollout={{ id, treeId, ordinal }} /> <span className="faint">{taskName(tree)}</span>
            </li>
          ))}
        </ul>
      </details>
    </li>
  );
}
