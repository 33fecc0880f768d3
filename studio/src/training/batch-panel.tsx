import { versionBatch } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { count, decimal, instant, whole } from '../parts/format.ts';
import { GroupLink, RolloutLink } from '../parts/links.tsx';
import { visible } from '../parts/plain-text.tsx';
import { Query } from '../parts/query.tsx';
import { Table } from '../parts/table.tsx';

/** The batch that made a version: who trained it, and the samples in its order. */
export function BatchPanel({ id, version }: { readonly id: string; readonly version: number }) {
  const answer = useAsk(versionBatch, { id });
  return (
    <section className="panel" aria-labelledby="batch">
      <Query of={answer}>
        {({ batch }) =>
          batch ? (
            <>
              <h2 id="batch">{`Version ${version} was made by batch ${batch.ordinal}`}</h2>
              <p className="faint">
                {`${count(batch.sampleCount, 'sample')} of ${count(batch.groupCount, 'group')}, ${count(batch.tokens, 'token')}, planned ${instant(batch.plannedAt)}`}
                {batch.leases
                  .map((lease) => `, leased by ${visible(lease.consumer)}${lease.endedBy ? ` (${lease.endedBy})` : ''}`)
                  .join('')}
              </p>
              <Table
                label="Samples of the batch"
                tall
                rows={batch.samples}
                keyOf={({ place }, at) => place ?? at}
                columns={[
                  ['place', ({ place }) => place, 'number'],
                  ['rollout', ({ rollout }) => <RolloutLink rollout={rollout} item />],
                  ['task', ({ tree }) => <GroupLink tree={tree} />],
                  ['return', ({ rollout }) => decimal(rollout?.return), 'number'],
                  ['steps', ({ rollout }) => rollout?.stepCount ?? '–', 'number'],
                  ['tokens', ({ sampledTokens }) => whole(sampledTokens), 'number'],
                  ['staleness', ({ staleness }) => staleness ?? '–', 'number'],
                ]}
              />
              {batch.sampleCount > batch.samples.length ? <p className="faint">{`the first ${batch.samples.length}`}</p> : null}
            </>
          ) : (
            <p className="faint">The batch is not known at this moment of the record.</p>
          )
        }
      </Query>
    </section>
  );
}
