import { useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import {
  type ComparePageQuery,
  comparePage,
  type DifferenceShownFragment,
} from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { decimal, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { RunLink } from '../parts/links.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { Share } from '../parts/share.tsx';
import { type Column, Table } from '../parts/table.tsx';

type Comparison = ComparePageQuery['compare'][number];

/** Runs against the first of them, task by task. */
export function ComparePage() {
  const { runs = '' } = useSearch({ from: '/view/compare' });
  const ids = runs.split(',').filter(Boolean);
  const answer = useAsk(comparePage, { runs: ids }, { enabled: ids.length > 1 });
  if (ids.length < 2) return <p className="empty">Choose two runs in the list of runs.</p>;
  return (
    <>
      <PageHead title="Runs compared" trail={<Link to="/">Runs</Link>}>
        <CopyAs operation={comparePage} variables={{ runs: ids }} command={`espalier compare ${ids.join(' ')}`} />
      </PageHead>
      <Query of={answer}>{({ compare }) => compare.map((each) => <Pair key={each.run.id} pair={each} />)}</Query>
    </>
  );
}

type Figure = readonly [name: string, of: (run: Comparison['run']) => ReactNode];
const FIGURES: readonly Figure[] = [
  ['policy', ({ policy }) => (policy ? `${visible(policy.id)}@${policy.version}` : '–')],
  [
    'success, all tasks',
    ({ totals: { successRate, successes, ...totals } }) =>
      successRate === null ? (
        '–'
      ) : (
        <Share successes={successes} of={totals.terminated + totals.truncated + totals.failed + totals.cancelled} />
      ),
  ],
  ['mean return, all tasks', ({ totals }) => decimal(totals.meanReturn)],
];

function Pair({ pair }: { readonly pair: Comparison }) {
  return (
    <section className="panel">
      <Table
        label="Figures"
        rows={FIGURES}
        keyOf={([name]) => name}
        columns={[
          [
            <span key="figure" className="sr">
              figure
            </span>,
            ([name]) => name,
            'name',
          ],
          ...[pair.baseline, pair.run].map((run): Column<Figure> => [<RunLink key={run.id} run={run} />, ([, of]) => of(run)]),
        ]}
      />
      <h2>{`On the ${whole(pair.tasks)} tasks that both have`}</h2>
      {pair.unpaired > 0 ? (
        <p className="faint">{`${whole(pair.unpaired)} tasks of the second run are not in the first.`}</p>
      ) : null}
      {pair.success ? <Difference name="success" of={pair.success} /> : null}
      {pair.return ? (
        <Difference name="return" of={pair.return} />
      ) : (
        <p className="faint">
          {pair.tasks === 0 ? 'They share no task.' : 'Nobody rewarded a task that both have, in both of them.'}
        </p>
      )}
    </section>
  );
}

function Difference({ name, of }: { readonly name: string; readonly of: DifferenceShownFragment }) {
  const { low, high } = of.interval;
  const differs = low > 0 || high < 0;
  return (
    <p>
      <b>{name}</b> {decimal(of.baselineMean)} → {decimal(of.mean)}, difference {decimal(of.difference)} (95 % interval{' '}
      {decimal(low)} to {decimal(high)}
      ): {differs ? (of.difference > 0 ? 'the second run is better' : 'the second run is worse') : 'no difference is shown'}.
      Better on {of.better}, worse on {of.worse}, equal on {of.equal} tasks.
    </p>
  );
}
