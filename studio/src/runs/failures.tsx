import { runFailures } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { whole } from '../parts/format.ts';
import { RolloutLink } from '../parts/links.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';

/** Why rollouts of a run failed, the most frequent reason first. */
export function Failures({ run }: { readonly run: string }) {
  const answer = useAsk(runFailures, { id: run });
  return (
    <Query of={answer}>
      {({ rollouts }) => {
        if (rollouts.totalCount === 0) return null;
        const byReason = Map.groupBy(rollouts.nodes, ({ reason }) => reason || 'no reason is recorded');
        const reasons = [...byReason].sort(([, a], [, b]) => b.length - a.length);
        return (
          <section className="panel">
            <h2>{`Failures: ${whole(rollouts.totalCount)}`}</h2>
            <ul className="plain">
              {reasons.map(([reason, failed]) => (
                <li key={reason}>
                  <b>{failed.length} ×</b> <span className="reason">{visible(reason).slice(0, 300)}</span>{' '}
                  {failed.slice(0, 3).map(({ id, treeId }, i) => (
                    <RolloutLink key={`${id} ${treeId}`} rollout={{ id, treeId }}>
                      {`${i === 0 ? '' : ', '}rollout`}
                    </RolloutLink>
                  ))}
                </li>
              ))}
            </ul>
          </section>
        );
      }}
    </Query>
  );
}
