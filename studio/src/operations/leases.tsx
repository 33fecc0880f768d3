import { leases as leasesOperation } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { count, instant } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';

/** Who has which batch, and until when; what is behind its deadline goes to the next who asks. */
export function Leases() {
  const answer = useAsk(leasesOperation, {});
  return (
    <section aria-labelledby="leases">
      <h2 id="leases">Leases</h2>
      <Query of={answer}>
        {({ policies }) => {
          const open = policies.flatMap(({ id: policy, batches }) =>
            batches.nodes.flatMap((batch) =>
              batch.leases.filter(({ endedAt }) => endedAt === null).map((lease) => ({ policy, batch, lease })),
            ),
          );
          return open.length === 0 ? (
            <p className="faint">No trainer has a batch.</p>
          ) : (
            <ul className="plain">
              {open.map(({ policy, batch, lease }) => (
                <li key={lease.id} data-item tabIndex={-1} className="notice wrap">
                  <Link to="/view/training" search={{ policy }}>
                    <bdi>{visible(policy).slice(0, 120)}</bdi>
                  </Link>
                  {` batch ${batch.ordinal}, ${count(batch.sampleCount, 'sample')}, by `}
                  <bdi>{visible(lease.consumer).slice(0, 200)}</bdi>
                  {`, fence ${lease.fence}, since ${instant(lease.leasedAt)}, until ${instant(lease.deadline)}`}
                  {Date.parse(lease.deadline) < Date.now() ? (
                    <span className="state state-failed">behind its deadline</span>
                  ) : null}
                </li>
              ))}
            </ul>
          );
        }}
      </Query>
    </section>
  );
}
