import { type PolicyLedgerQuery, policyLedger } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { whole } from '../parts/format.ts';
import { visible } from '../parts/plain-text.tsx';
import { Shown } from '../parts/shown.tsx';

type Ledger = NonNullable<PolicyLedgerQuery['policy']>['ledger'];

/** What became of every sample of a policy. It counts all of them, so it is asked for apart: no curve waits for it. */
export function LedgerFlow({ policy }: { readonly policy: string }) {
  const answer = useAsk(policyLedger, { id: policy });
  return (
    <div style={{ minHeight: '6.5rem' }}>
      <Shown of={answer}>{({ policy }) => (policy ? <Flow ledger={policy.ledger} /> : null)}</Shown>
    </div>
  );
}

/** A bar whose parts add up to the samples that were produced. */
function Flow({ ledger }: { readonly ledger: Ledger }) {
  const { owed } = ledger;
  const rejected = ledger.rejected.reduce((sum, { samples }) => sum + samples, 0);
  const parts = [
    { name: 'trained', samples: ledger.trained, kind: 'good' },
    { name: 'rejected', samples: rejected, kind: 'bad' },
    { name: 'abandoned', samples: ledger.abandoned, kind: 'bad' },
    { name: 'leased', samples: owed.leased, kind: 'busy' },
    { name: 'planned', samples: owed.planned, kind: 'busy' },
    { name: 'ready', samples: owed.ready, kind: 'open' },
    { name: 'group open', samples: owed.group, kind: 'open' },
  ].filter(({ samples }) => samples > 0);
  return (
    <section aria-labelledby="ledger">
      <h2 id="ledger">{`Ledger: ${whole(ledger.produced)} samples produced, difference ${ledger.difference}`}</h2>
      <div className="flow">
        {parts.map(({ name, samples, kind }) => (
          <div key={name} className={`flow-part flow-${kind}`} style={{ flexGrow: samples }} title={`${name}: ${whole(samples)}`}>
            {`${name} ${whole(samples)}`}
          </div>
        ))}
      </div>
      {ledger.rejected.length > 0 ? (
        <p className="faint">
          Rejected: {ledger.rejected.map(({ reason, samples }) => `${visible(reason)} ${whole(samples)}`).join(', ')}.
        </p>
      ) : null}
    </section>
  );
}
