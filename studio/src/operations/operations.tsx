import { Fragment } from 'react';
import {
  leases as leasesOperation,
  type OperationsPageQuery,
  operationsPage,
} from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { CopyAs } from '../parts/copy-as.tsx';
import { count, duration, instant, percent, whole } from '../parts/format.ts';
import { Link } from '../parts/link.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { Table } from '../parts/table.tsx';
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

/** Who has which batch, and until when; what is behind its deadline goes to the next who asks. */
function Leases() {
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

const SEEN = 5; // rows that the table shows at once

type Lags = OperationsPageQuery['lag'];

interface Partition {
  readonly name: string;
  readonly end: number;
  /** Of the projection that is behind the most. */
  readonly lag: number;
  readonly slowest: readonly string[];
  readonly projections: number;
}

/** The partitions of the log: where each ends, and which projections are behind there. */
function Partitions({ of }: { readonly of: Lags }) {
  const partitions = partitionsOf(of);
  return (
    <section aria-labelledby="partitions">
      <h2 id="partitions">{`Partitions: ${whole(partitions.length)}`}</h2>
      {partitions.length > SEEN ? <p className="faint">The furthest behind first; the table scrolls through all.</p> : null}
      <Table
        label="Partitions"
        tall
        rows={partitions}
        keyOf={({ name }) => name}
        columns={[
          ['partition', ({ name }) => name],
          ['records', ({ end }) => whole(end), 'number'],
          ['behind', ({ lag }) => whole(lag), 'number'],
          [
            'the furthest behind',
            ({ lag, slowest, projections }) =>
              lag === 0 ? <span className="faint">{`none of ${projections} projections`}</span> : slowest.join(', '),
          ],
        ]}
      />
    </section>
  );
}

/** What is furthest behind first, then what holds the most records. */
function partitionsOf(lags: Lags): readonly Partition[] {
  const found = new Map<string, Partition>();
  for (const { projection, partitions } of lags)
    for (const { topic, partition, end, lag } of partitions) {
      const name = `${topic}.${partition}`;
      const { lag: most = 0, slowest = [], projections = 0 } = found.get(name) ?? {};
      const behind = lag > most ? [projection] : lag === most && lag > 0 ? [...slowest, projection] : slowest;
      found.set(name, { name, end, lag: Math.max(lag, most), slowest: behind, projections: projections + 1 });
    }
  return [...found.values()].sort(
    (a, b) => b.lag - a.lag || b.end - a.end || a.name.localeCompare(b.name, 'en', { numeric: true }),
  );
}
