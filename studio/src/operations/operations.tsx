import { Fragment } from 'react';
import { type OperationsPageQuery, operationsPage } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { count, duration, percent, whole } from '../parts/format.ts';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Shown } from '../parts/shown.tsx';
import { Leases } from './leases.tsx';
import { Partitions } from './partitions.tsx';
import { Quarantine } from './quarantine.tsx';
import { Replays } from './replays.tsx';
import { Verifications } from './verifications.tsx';

type Lag = OperationsPageQuery['lag'][number];

/** How the installation works: projections with their lag, builds, what was set aside, what the journal noticed. */
export function OperationsPage() {
  const answer = useAsk(operationsPage, {});
  return (
    <>
      <PageHead title="Operations">
        <CopyAs operation={operationsPage} variables={{}} command="espalier status" />
      </PageHead>
      <Shown of={answer}>
        {({ lag, quarantine, anomalies, position }) => (
          <>
            <End position={position} />
            <h2>Projections</h2>
            <div className="scroll-x" role="region" aria-label="Projections" tabIndex={0}>
              <table className="rows">
                <thead>
                  <tr>
                    <th scope="col">projection</th>
                    <th scope="col">state</th>
                    <th scope="col" className="number">
                      behind
                    </th>
                    <th scope="col">partitions behind</th>
                    <th scope="col">builds</th>
                  </tr>
                </thead>
                <tbody>
                  {lag.map((each) => (
                    <Projection key={each.projection} lag={each} />
                  ))}
                </tbody>
              </table>
            </div>
            <Partitions of={lag} />
            <Leases />
            <Quarantine of={quarantine} />
            <h2>{`Anomalies: ${whole(anomalies.totalCount)}`}</h2>
            {anomalies.nodes.length === 0 ? (
              <p className="faint">The journal saw no gap, no repetition and no reordering.</p>
            ) : null}
            <ul className="plain">
              {anomalies.nodes.map((each) => (
                <li key={`${each.topic} ${each.partition} ${each.offset} ${each.kind}`}>
                  <span className="state state-failed">{each.kind}</span> {`${each.topic}.${each.partition}@${each.offset}`}{' '}
                  {visible(each.detail).slice(0, 300)}
                </li>
              ))}
            </ul>
          </>
        )}
      </Shown>
      <Verifications />
      <Replays />
    </>
  );
}

/** Where the log ends, in a line that opens; the names of partitions stay whole. */
function End({ position }: { readonly position: string }) {
  if (position === '') return <p className="faint">The log is empty.</p>;
  const partitions = position.split(',');
  return (
    <details>
      <summary>{`End of the log, in ${count(partitions.length, 'partition')}`}</summary>
      <code>
        {partitions.map((each, at) => (
          <Fragment key={each}>
            <span className="whole">{`${each}${at === partitions.length - 1 ? '' : ','}`}</span>
            <wbr />
          </Fragment>
        ))}
      </code>
    </details>
  );
}

function Projection({ lag }: { readonly lag: Lag }) {
  const behind = lag.partitions.filter((each) => each.lag > 0);
  return (
    <tr>
      <td>
        {lag.projection} <span className="faint">{`v${lag.version} build ${lag.build}`}</span>
      </td>
      <td>
        <span className={`state ${lag.state === 'stopped' ? 'state-failed' : 'state-completed'}`}>{lag.state}</span>
        {lag.reason ? <div className="reason">{visible(lag.reason)}</div> : null}
      </td>
      <td className="number">{whole(lag.lag)}</td>
      <td>
        {behind.map((each) => `${each.topic}.${each.partition}: ${whole(each.lag)}`).join(', ') || (
          <span className="faint">none</span>
        )}
      </td>
      <td>
        {lag.builds.map((build) => (
          <div key={`${build.version} ${build.build}`}>
            {`v${build.version} build ${build.build}: ${build.state}`}
            {build.done !== null && build.of ? ` ${percent(build.done / build.of)}` : ''}
            {build.secondsLeft === null ? '' : `, ${duration(build.secondsLeft * 1_000)} left`}
          </div>
        ))}
      </td>
    </tr>
  );
}
