import { Link, useSearch } from '@tanstack/react-router';
import {
  type ComparePageQuery,
  comparePage,
  type DifferenceShownFragment,
} from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { decimal, shortId, whole } from '../parts/format.ts';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Share } from '../parts/share.tsx';
import { Shown } from '../parts/shown.tsx';

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
      <Shown of={answer}>{({ compare }) => compare.map((each) => <Pair key={each.run.id} pair={each} />)}</Shown>
    </>
  );
}

function Pair({ pair }: { readonly pair: Comparison }) {
  return (
    <section className="panel">
      <div className="scroll-x" role="region" aria-label="Figures" tabIndex={0}>
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">
                <span className="sr">figure</span>
              </th>
              {[pair.baseline, pair.run].map((run) => (
                <th key={run.id} scope="col">
                  <Link to="/view/run/$id" params={{ id: run.id }}>
                    <bdi>{visible(run.name) || shortId(run.id)}</bdi>
                  </Link>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">policy</th>
              {[pair.baseline, pair.run].map((run) => (
                <td key={run.id}>{run.policy ? `${visible(run.policy.id)}@${run.policy.version}` : '–'}</td>
              ))}
            </tr>
            <tr>
              <th scope="row">success, all tasks</th>
              {[pair.baseline, pair.run].map(({ id, totals }) => (
                <td key={id}>
                  {totals.successRate === null ? (
                    '–'
                  ) : (
                    <Share
                      successes={totals.successes}
                      of={totals.terminated + totals.truncated + totals.failed + totals.cancelled}
                    />
                  )}
                </td>
              ))}
            </tr>
            <tr>
              <th scope="row">mean return, all tasks</th>
              {[pair.baseline, pair.run].map(({ id, totals }) => (
                <td key={id}>{decimal(totals.meanReturn)}</td>
              ))}
            </tr>
          </tbody>
        </table>
      </div>
      <h2>{`On the ${whole(pair.tasks)} tasks that both have`}</h2>
      {pair.unpaired > 0 ? (
        <p className="faint">{`${whole(pair.unpaired)} tasks of the second run are not in the first.`}</p>
      ) : null}
      {pair.success ? <Difference name="success" of={pair.success} /> : null}
      {pair.return ? <Difference name="return" of={pair.return} /> : <p className="faint">They share no task.</p>}
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
