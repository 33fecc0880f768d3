import { Link } from '@tanstack/react-router';
import { versionBatch } from '../../../graphql/studio/generated/operations.ts';
import { useAsk } from '../graphql/use-ask.ts';
import { count, decimal, instant, whole } from '../parts/format.ts';
import { visible } from '../parts/plain-text.tsx';
import { Shown } from '../parts/shown.tsx';

/** The batch that made a version: who trained it, and the samples in its order. */
export function BatchPanel({ id, version }: { readonly id: string; readonly version: number }) {
  const answer = useAsk(versionBatch, { id });
  return (
    <section className="panel" aria-labelledby="batch">
      <Shown of={answer}>
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
              <div className="scroll-x scroll-y" role="region" aria-label="Samples of the batch" tabIndex={0}>
                <table className="rows">
                  <thead>
                    <tr>
                      <th scope="col" className="number">
                        place
                      </th>
                      <th scope="col">rollout</th>
                      <th scope="col">task</th>
                      <th scope="col" className="number">
                        return
                      </th>
                      <th scope="col" className="number">
                        steps
                      </th>
                      <th scope="col" className="number">
                        tokens
                      </th>
                      <th scope="col" className="number">
                        staleness
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {batch.samples.map((sample) => (
                      <tr key={sample.place}>
                        <td className="number">{sample.place}</td>
                        <td>
                          {sample.rollout ? (
                            <Link data-item to="/view/trajectory/$id" params={{ id: sample.rollout.id }}>
                              {`rollout ${sample.rollout.ordinal}`}
                            </Link>
                          ) : (
                            '–'
                          )}
                        </td>
                        <td>
                          {sample.tree ? (
                            <Link to="/view/group/$id" params={{ id: sample.tree.id }}>
                              <bdi>{visible(sample.tree.task.goal || sample.tree.task.alias).slice(0, 80)}</bdi>
                            </Link>
                          ) : null}
                        </td>
                        <td className="number">{decimal(sample.rollout?.return)}</td>
                        <td className="number">{sample.rollout?.stepCount ?? '–'}</td>
                        <td className="number">{whole(sample.sampledTokens)}</td>
                        <td className="number">{sample.staleness ?? '–'}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              {batch.sampleCount > batch.samples.length ? <p className="faint">{`the first ${batch.samples.length}`}</p> : null}
            </>
          ) : (
            <p className="faint">The batch is not known at this moment of the record.</p>
          )
        }
      </Shown>
    </section>
  );
}
