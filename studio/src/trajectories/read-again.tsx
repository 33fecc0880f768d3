import { type StepReadAgainQuery, stepReadAgain } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { isPage } from '../page/stored-page.ts';
import { decimal } from '../parts/format.ts';
import { useTree } from '../parts/of-tree.tsx';
import { Query } from '../parts/query.tsx';
import { Table } from '../parts/table.tsx';
import type { TokenRow } from './token-rows.ts';

type Estimate = NonNullable<NonNullable<StepReadAgainQuery['step']>['estimate']>;
type Reading = NonNullable<NonNullable<Estimate['readAgain']>['before']>;
type Read = Pick<Reading, 'logProb'> & { readonly entropy: number | null };

/** Old against new: what the versions before and after training give to what the step sampled. */
export function ReadAgain({ step, recorded }: { readonly step: string; readonly recorded: readonly TokenRow[] }) {
  const answer = useAsk(stepReadAgain, { id: step, tree: useTree() }, { enabled: !isPage() });
  if (isPage()) return null;
  return (
    <Query of={answer}>
      {({ step }) => {
        const batch = step?.rollout?.sample?.batch;
        if (!batch) return null; // it trains no policy, or no batch yet
        const again = step.estimate?.readAgain;
        const sampled = sumOf(recorded, ({ logProb }) => logProb);
        const resulted = sumOf(recorded, ({ newLogProb }) => newLogProb);
        if (!again && !resulted)
          return (
            <p className="faint">
              {batch.update
                ? 'What the new version gives to these tokens is not recorded: its trainer sent no log-probs (logprobs of batch.ack).'
                : 'No version resulted yet that could be compared.'}
            </p>
          );
        const before = again ? again.before : sampled;
        const after = again ? again.after : resulted;
        const rows = [
          { name: 'recorded when it was sampled', reading: sampled },
          ...(again ? [{ name: `version ${batch.base.version}, trained on it`, reading: again.before }] : []),
          { name: batch.update ? `version ${batch.update.version}, that resulted` : 'no version resulted yet', reading: after },
        ];
        return (
          <>
            <Table
              label="Old against new"
              rows={rows}
              keyOf={({ name }) => name}
              columns={[
                ['old against new', ({ name }) => name, 'name'],
                ['log-prob', ({ reading }) => decimal(reading?.logProb), 'number'],
                ['probability', ({ reading }) => (reading ? decimal(Math.exp(reading.logProb)) : '–'), 'number'],
                ['entropy', ({ reading }) => decimal(reading?.entropy), 'number'],
              ]}
            />
            <p className="faint">{changed(before, after)}</p>
          </>
        );
      }}
    </Query>
  );
}

/** The sum over the sampled tokens; null where none is known of them. */
function sumOf(rows: readonly TokenRow[], of: (row: TokenRow) => number | null): Read | null {
  const known = rows.flatMap((row) => (row.trained ? (of(row) ?? []) : []));
  return known.length === 0 ? null : { logProb: known.reduce((sum, each) => sum + each, 0), entropy: null };
}

function changed(before: Read | null, after: Read | null): string {
  if (!before || !after) return '';
  const ratio = Math.exp(after.logProb - before.logProb);
  return `The update made it ${ratio >= 1 ? 'more' : 'less'} likely, by the ratio ${decimal(ratio)}.`;
}
