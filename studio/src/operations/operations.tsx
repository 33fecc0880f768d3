import { Fragment } from 'react';
import { type OperationsPageQuery, operationsPage } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { count, duration, percent, whole } from '../parts/format.ts';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { Table } from '../parts/table.tsx';
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
      <Query of={answer}>
        {({ lag, quarantine, anomalies, position }) => (
          <>
            <End position={position} />
            <h2>Projections</h2>
            <Table
              label="Projections"
              rows={lag}
              keyOf={({ projection }) => projection}
              columns={[
                [
                  'projection',
                  ({ projection, version, build }) => (
                    <>
                      {projection} <span className="faint">{`v${version} build ${build}`}</span>
                    </>
                  ),
                ],
                [
                  'state',
                  ({ state, reason }) => (
                    <>
                      <span className={`state ${state === 'stopped' ? 'state-failed' : 'state-completed'}`}>{state}</span>
                      {reason ? <div className="reason">{visible(reason)}</div> : null}
                    </>
                  ),
                ],
                ['behind', (each) => whole(each.lag), 'number'],
                ['partitions behind', ({ partitions }) => behindIn(partitions) || <span className="faint">none</span>],
                [
                  'builds',
                  ({ builds }) => builds.map((build) => <div key={`${build.version} ${build.build}`}>{buildText(build)}</div>),
                ],
              ]}
            />
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
      </Query>
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

function behindIn(partitions: Lag['partitions']): string {
  const behind = partitions.filter(({ lag }) => lag > 0);
  return behind.map(({ topic, partition, lag }) => `${topic}.${partition}: ${whole(lag)}`).join(', ');
}

function buildText({ version, build, state, done, of, secondsLeft }: Lag['builds'][number]): string {
  const share = done !== null && of ? ` ${percent(done / of)}` : '';
  return `v${version} build ${build}: ${state}${share}${secondsLeft === null ? '' : `, ${duration(secondsLeft * 1_000)} left`}`;
}
