import { type PolicyLedgerQuery, policyLedger } from '../../../graphql/studio/generated/operations.ts';
import { ABANDONED } from '../discarded/bias.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { count, percent, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { type Branch, flowOf } from './flow.ts';

type Ledger = NonNullable<PolicyLedgerQuery['policy']>['ledger'];

/** What became of every sample of a policy. It counts all of them, so it is asked for apart: no curve waits for it. */
export function LedgerFlow({ policy }: { readonly policy: string }) {
  const answer = useAsk(policyLedger, { id: policy });
  return (
    <div style={{ minHeight: '15rem' }}>
      <Query of={answer}>{({ policy }) => (policy ? <Flow policy={policy.id} ledger={policy.ledger} /> : null)}</Query>
    </div>
  );
}

/** The way of the samples: from all that were produced to what became of each, as broad as they are many. */
function Flow({ policy, ledger }: { readonly policy: string; readonly ledger: Ledger }) {
  const branches = branchesOf(ledger);
  const { ribbons, height } = flowOf(branches);
  return (
    <section aria-labelledby="ledger">
      <h2 id="ledger">{`Ledger: ${count(ledger.produced, 'sample')} produced, difference ${ledger.difference}`}</h2>
      {ribbons.length === 0 ? null : (
        <div className="flow">
          <div className="flow-from" style={{ height }}>
            <span>
              <b>{whole(ledger.produced)}</b>
              <br />
              <span className="faint">produced</span>
            </span>
          </div>
          <svg viewBox={`0 0 100 ${height}`} height={height} preserveAspectRatio="none" aria-hidden="true">
            {ribbons.map(({ branch, path }) => (
              <path key={branch.name} d={path} className={`flow-${branch.kind}`} />
            ))}
          </svg>
          <ul>
            {ribbons.map(({ branch, row }) => (
              <li key={branch.name} style={{ height: row }}>
                <b>{whole(branch.samples)}</b>
                {branch.reason === undefined ? (
                  <span>{branch.name}</span>
                ) : (
                  <Link data-item to="/view/discarded" search={{ policy, reason: branch.reason }}>
                    {visible(branch.name)}
                  </Link>
                )}
                <span className="faint">{percent(branch.samples / ledger.produced)}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {ledger.rejected.length > 0 || ledger.abandoned > 0 ? (
        <p>
          <Link to="/view/discarded" search={{ policy }}>
            Is what is discarded biased by task, length or version?
          </Link>
        </p>
      ) : null}
    </section>
  );
}

function branchesOf({ trained, rejected, abandoned, owed }: Ledger): readonly Branch[] {
  return [
    { name: 'trained', samples: trained, kind: 'good' },
    ...rejected.map(({ reason, samples }) => ({ name: `rejected: ${reason}`, samples, kind: 'bad' as const, reason })),
    { name: 'abandoned with their batch', samples: abandoned, kind: 'bad', reason: ABANDONED },
    { name: 'owed: leased by a trainer', samples: owed.leased, kind: 'busy' },
    { name: 'owed: in a planned batch', samples: owed.planned, kind: 'busy' },
    { name: 'owed: ready for a batch', samples: owed.ready, kind: 'open' },
    { name: 'owed: their group is open', samples: owed.group, kind: 'open' },
  ];
}
